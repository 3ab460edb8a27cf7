"""Another encoder for everything: nothing is read again or lost, and what died is taken up where it was."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from tests.bases import TABLES, live_folder, table_bytes, table_rows, write_facts, write_lines
from tests.tiny_bases import live_hashes, name_of, stored_hashes, tiny_encoder, write_names
from tests.tiny_encoder import HEADS, MAX_TOKENS, tiny_weights, write_published
from ytrag_core.cli import app
from ytrag_core.config import BuildSettings, TreeSettings
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.own_model import describe_folder
from ytrag_core.embedding.precision import VECTORS
from ytrag_core.errors import ConfigError, ModelError, SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.sample import sample_folder
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tiny_bases import CountingEncoder

FACTS = [
    ("Ada", "born in", "river town"),
    ("river town", "capital of", "the town"),
    ("Ada", "founded", "1812"),
    ("the river", "founded", "1812"),
]
QUESTION = "Ada born in which town?"
VECTOR_FREE = sorted(set(TABLES) - {"communities", "entities"})


@pytest.fixture
def one(tmp_path: Path) -> CountingEncoder:
    return tiny_encoder(tmp_path, 1)


@pytest.fixture
def two(tmp_path: Path) -> CountingEncoder:
    return tiny_encoder(tmp_path, 2)


def entity_rows(root: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in row.items() if k != "community"} for row in table_rows(root, "entities")]


@pytest.mark.parametrize("kind", ["openie", "edges", "documents"])
def test_it_is_as_if_built_with_the_other_encoder(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder, kind: str
) -> None:
    sources = tmp_path / "in"
    if kind == "openie":
        write_facts(sources, FACTS)
    elif kind == "edges":
        write_names(sources, [name_of(number) for number in range(50)])
    else:
        write_lines(
            sources / "a.jsonl", [{"id": "a", "title": "Ada", "text": "Ada Byron was born in London."}]
        )
    settings = BuildSettings(tree=TreeSettings(max_size=10))
    for root, encoder in ((tmp_path / "kb", one), (tmp_path / "wanted", two)):
        KnowledgeBase.build(root, [sources], format=kind, encoder=encoder, settings=settings)  # type: ignore[arg-type]
    before, rows = table_bytes(tmp_path / "kb"), entity_rows(tmp_path / "kb")
    shutil.rmtree(sources)
    two.encoded.clear()
    report = KnowledgeBase.reembed(tmp_path / "kb", encoder=two)
    assert (report.snapshot, report.reused_strings) == ("000002", 0)
    assert report.encoded_strings == len(two.encoded) == len(set(two.encoded)) > 0
    assert report.problems == ()
    after = table_bytes(tmp_path / "kb")
    assert {name: after[name] for name in VECTOR_FREE} == {name: before[name] for name in VECTOR_FREE}
    assert entity_rows(tmp_path / "kb") == rows
    files = [
        {
            path.relative_to(live_folder(root)).as_posix(): path.read_bytes()
            for path in live_folder(root).rglob("[!.]*")
            if path.is_file() and path.name != "manifest.json"
        }
        for root in (tmp_path / "kb", tmp_path / "wanted")
    ]
    assert files[0] == files[1]
    manifest = Snapshot.open(tmp_path / "kb", verify="full").manifest
    assert manifest.encoder["fingerprint"] == two.fingerprint
    assert manifest.settings["tree"]["max_size"] == 10  # type: ignore[index,call-overload]
    assert [entry["format"] for entry in manifest.sources if isinstance(entry, dict)] == [kind]
    with pytest.raises(ModelError):
        KnowledgeBase.open(tmp_path / "kb", encoder=one)
    assert KnowledgeBase.open(tmp_path / "kb", encoder=two).retrieve(QUESTION).question == QUESTION


def test_documents_are_added_with_the_new_encoder_and_none_is_extracted_again(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder
) -> None:
    root = tmp_path / "kb"
    write_lines(tmp_path / "a.jsonl", [{"id": "a", "text": "Ada Byron was born in London."}])
    KnowledgeBase.build(root, [tmp_path / "a.jsonl"], encoder=one)
    KnowledgeBase.reembed(root, encoder=two)
    with pytest.raises(ConfigError, match="ytrag reembed"):
        KnowledgeBase.build(root, [tmp_path / "a.jsonl"], encoder=one)
    assert KnowledgeBase.build(root, [tmp_path / "a.jsonl"], encoder=two).encoded_strings == 0
    write_lines(tmp_path / "b.jsonl", [{"id": "b", "text": "Bob Byron was born in Paris."}])
    assert KnowledgeBase.build(root, [tmp_path / "b.jsonl"], encoder=two).counts["documents"] == 2


def test_the_same_encoder_encodes_nothing(tmp_path: Path, one: CountingEncoder) -> None:
    root = tmp_path / "kb"
    KnowledgeBase.build(root, [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=one)
    report = KnowledgeBase.reembed(root, encoder=one)
    assert (report.snapshot, report.encoded_strings) == ("000002", 0)


def test_going_back_at_once_encodes_nothing(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder
) -> None:
    root = tmp_path / "kb"
    KnowledgeBase.build(root, [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=one)
    KnowledgeBase.reembed(root, encoder=two)
    assert KnowledgeBase.reembed(root, encoder=one).encoded_strings == 0
    assert KnowledgeBase.reembed(root, encoder=two).encoded_strings == 0


def test_one_that_dies_loses_nothing_and_is_taken_up(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder
) -> None:
    root = tmp_path / "kb"
    KnowledgeBase.build(root, [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=one)
    before = KnowledgeBase.open(root, encoder=one).retrieve(QUESTION)

    def die_at_the_second_stage(n_encoded: int) -> None:
        if n_encoded:
            raise KeyboardInterrupt

    two.before_each = die_at_the_second_stage
    with pytest.raises(KeyboardInterrupt):
        KnowledgeBase.reembed(root, encoder=two)
    two.before_each = None
    done = list(two.encoded)
    assert 0 < len(stored_hashes(root, two)) == len(done)
    after = KnowledgeBase.open(root, encoder=one).retrieve(QUESTION)
    assert (after.chunks, after.triples) == (before.chunks, before.triples)
    assert KnowledgeBase.build(root, [tmp_path / "in"], format="openie", encoder=one).encoded_strings == 0
    two.encoded.clear()
    report = KnowledgeBase.reembed(root, encoder=two)
    assert report.reused_strings == len(done)
    assert not set(done) & set(two.encoded)
    assert not live_hashes(root).intersection(stored_hashes(root, two))


def test_vectors_of_the_new_encoder_can_be_borrowed(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder
) -> None:
    folder = write_facts(tmp_path / "in", FACTS)
    for name, encoder in (("kb", one), ("other", two)):
        KnowledgeBase.build(tmp_path / name, [folder], format="openie", encoder=encoder)
    report = KnowledgeBase.reembed(tmp_path / "kb", encoder=two, reuse_vectors=tmp_path / "other")
    assert report.encoded_strings == 0
    with pytest.raises(ConfigError, match="never mixed"):
        KnowledgeBase.reembed(tmp_path / "kb", encoder=one, reuse_vectors=tmp_path / "other")


def test_there_must_be_a_whole_knowledge_base(
    tmp_path: Path, one: CountingEncoder, two: CountingEncoder
) -> None:
    with pytest.raises(SnapshotError, match="there is no knowledge base"):
        KnowledgeBase.reembed(tmp_path / "kb", encoder=two)
    assert not (tmp_path / "kb").exists()
    KnowledgeBase.build(tmp_path / "kb", [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=one)
    path = live_folder(tmp_path / "kb") / "triples.parquet"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=r"triples\.parquet"):
        KnowledgeBase.reembed(tmp_path / "kb", encoder=two)
    assert pq.ParquetFile(live_folder(tmp_path / "kb") / "chunks.parquet").metadata.num_rows == len(FACTS)


def run(*arguments: object) -> Any:
    """Run a command in this process; return its JSON, or what it says of an error."""
    done = CliRunner().invoke(app, list(map(str, arguments)), prog_name="ytrag")
    return json.loads(done.stdout) if done.exit_code == 0 else (done.exit_code, done.stderr)


def test_the_commands(tmp_path: Path, sample_kb: KnowledgeBase, one: CountingEncoder) -> None:
    root = tmp_path / "kb"
    shutil.copytree(sample_kb.path, root)
    report = run("reembed", "--kb", root, "--json")
    assert (report["snapshot"], report["encoded_strings"]) == ("000002", 0)
    assert report["counts"] == Snapshot.open(root).manifest.counts
    command = ("import", "openie", sample_folder(), "--kb", tmp_path / "new", "--json", "--reuse-vectors")
    report = run(*command, root)
    assert (report["encoded_strings"], report["problems"]) == (0, [])
    KnowledgeBase.build(
        tmp_path / "tiny", [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=one
    )
    code, message = run(*command, tmp_path / "tiny")
    assert code == 2
    assert one.fingerprint in message.replace("\n", "")
    code, message = run("reembed", "--kb", tmp_path / "nowhere")
    assert (code, "there is no knowledge base" in message) == (2, True)


def test_integers_of_an_earlier_conversion_are_told_and_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder, root = tmp_path / "mine", tmp_path / "kb"
    write_published(folder, tiny_weights())
    (folder / "encoder.toml").write_text(f"n_heads = {HEADS}\nmax_tokens = {MAX_TOKENS}\n")
    description = describe_folder(folder)
    with monkeypatch.context() as before:
        before.setitem(VECTORS, "int8", "int8-1")
        earlier = Encoder.load(description=description, precision="int8")
        KnowledgeBase.build(root, [write_facts(tmp_path / "in", FACTS)], format="openie", encoder=earlier)
    assert ":int8-1:" in earlier.fingerprint
    code, message = run("retrieve", QUESTION, "--kb", root)
    told = " ".join(message.split())
    assert code == 1
    assert f"made by '{earlier.fingerprint}', the encoder is 'mine:int8-3:" in told
    assert "ytrag reembed --kb" in told
    assert run("reembed", "--kb", root, "--json")["encoded_strings"] > 0
    assert run("retrieve", QUESTION, "--kb", root, "--json")["question"] == QUESTION
