"""Input and directories as a hostile or unlucky user gives them: one clear error, and nothing lost."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.bases import live_folder, table_rows, write_edges, write_lines
from ytrag_core.documents.model import Chunk, Document, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.sentences import sentence_ends
from ytrag_core.errors import GraphFormatError, SchemaError, SnapshotError
from ytrag_core.extraction.offline import extract_offline
from ytrag_core.graph.edges import read_edges
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.schema.load import load_schema, parse_schema

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

_ODD = os.fsdecode(b"odd\xff")


def _title(folder: Path, text: str) -> str:
    path = folder / "a.md"
    path.write_text(text, encoding="utf-8")
    (document,) = read_documents([path])
    assert isinstance(document, Document)
    return document.title


# Each of these took minutes, or hours, while the time was quadratic or cubic.
@pytest.mark.parametrize("text", ["." * 100_000, "!?" * 50_000, "." * 50_000 + '"' * 50_000, "。" * 100_000])
def test_long_runs_of_stops_cost_little(text: str) -> None:
    assert len(sentence_ends(f"One {text} Two")) == 1
    assert sentence_ends(f"{text}x") in ([], [len(text)])


def test_runs_of_stops_end_a_sentence_once() -> None:
    text = 'He left... "Why?!" She stayed.) And.Then!'
    assert [text[:end][-3:] for end in sentence_ends(text)] == ["...", '?!"', "d.)"]


@pytest.mark.parametrize("line", ["![" * 20_000 + "](" * 20_000, "x" + " " * 90_000 + "y", "<" * 90_000])
def test_long_headings_cost_little_and_are_cut(line: str, tmp_path: Path) -> None:
    assert len(_title(tmp_path, f"# {line}\n\nText.\n")) <= 300
    assert len(_title(tmp_path, f"{line}\n===\n\nText.\n")) <= 300
    assert len(_title(tmp_path, f"---\ntitle: {line}\n---\nText.\n")) <= 300


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("#  Sea ##  \n", "Sea"),
        ("# C#\n", "C#"),
        ("# a # b #\n", "a # b"),
        ("Sea salt  \n  ---  \n", "Sea salt"),
        ("---\ntitle: 'Salt' \n---\n# Sea\n", "Salt"),
        ("---\ntitle: \n---\n# Sea\n", "Sea"),
    ],
)
def test_titles_of_markdown(text: str, title: str, tmp_path: Path) -> None:
    assert _title(tmp_path, text) == title


def test_a_title_too_long_to_be_a_name_is_no_entity() -> None:
    chunk = Chunk("c", "d", "Tall Tales " * 10_000, "Karl Marx was born in Trier.", 0, 28)
    names = {entity.name for entity in extract_offline(chunk).entities}
    assert "Karl Marx" in names
    assert max(map(len, names)) < 100


def test_lone_surrogates_in_metadata_lose_nothing(tmp_path: Path) -> None:
    line = (
        '{"id": "r", "text": "Some text.", "k\\ud800": ["\\udc00", {"x": "a\\u0000b"}], "n": ' + f"{2**70}}}"
    )
    (document,) = read_documents([write_lines(tmp_path / "a.jsonl", [line])])
    assert isinstance(document, Document)
    assert document.metadata == {"k\ufffd": ["\ufffd", {"x": "ab"}], "n": 2**70}
    json.dumps(document.metadata, ensure_ascii=False).encode()


def test_numbers_of_thousands_of_digits_are_a_problem(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "a.jsonl", ['{"text": "x", "n": ' + "9" * 5000 + "}", {"text": "y"}])
    problem, document = read_documents([path])
    assert isinstance(document, Document)
    assert isinstance(problem, Problem)
    assert "5000 digits; write it as a string" in problem.reason
    with pytest.raises(SchemaError, match="thousands of digits"):
        parse_schema('{"entity_types": ' + "9" * 5000 + "}", name="s", where="s.json")


def test_an_empty_schema_name_is_refused() -> None:
    with pytest.raises(SchemaError, match="neither a bundled schema nor a file"):
        load_schema("")


def test_the_knowledge_base_itself_is_not_read(tmp_path: Path) -> None:
    base = tmp_path / "kb"
    base.mkdir()
    (base / "note.txt").write_text("inside", encoding="utf-8")
    (tmp_path / "a.txt").write_text("outside", encoding="utf-8")
    found = list(read_documents([tmp_path], skip=base))
    assert [item.text for item in found if isinstance(item, Document)] == ["outside"]
    assert len(found) == 1


def test_edges_with_broken_text_or_doubled_columns_are_refused(tmp_path: Path) -> None:
    edges = pa.table({"src": [1], "relation": ["r"], "dst": [2]})
    broken = pa.array([b"\xff\xfe", b"ok"]).view(pa.string())
    with pytest.raises(GraphFormatError, match=r"nodes\.parquet .*UTF8"):
        read_edges(write_edges(tmp_path / "utf", pa.table({"id": [1, 2], "name": broken}), edges))
    doubled = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array(["a", "b"])], names=["id", "id", "name"])
    with pytest.raises(GraphFormatError, match=r"several columns \['id'\]"):
        read_edges(write_edges(tmp_path / "twice", doubled, edges))


def test_edges_take_string_views(tmp_path: Path) -> None:
    ids = pa.array(["x", "y"], pa.string_view())
    nodes = pa.table({"id": ids, "name": ids})
    edges = pa.table({"src": ids.slice(0, 1), "relation": ["r"], "dst": ids.slice(1)})
    assert read_edges(write_edges(tmp_path / "views", nodes, edges)).graph.n_triples == 1


def test_paths_that_cannot_be_are_refused(tmp_path: Path, encoder: Encoder) -> None:
    source = tmp_path / "a.txt"
    source.write_text("Karl Marx was born in Trier.", encoding="utf-8")
    with pytest.raises(SnapshotError, match="is not UTF-8: give a directory whose path is"):
        KnowledgeBase.build(tmp_path / _ODD, [source], encoder=encoder)
    with pytest.raises(SnapshotError, match="cannot be read: File name too long"):
        KnowledgeBase.build(tmp_path / ("x" * 300), [source], encoder=encoder)
    with pytest.raises(SnapshotError, match="cannot be read: File name too long"):
        KnowledgeBase.open(tmp_path / ("x" * 300), encoder=encoder)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_sources_with_odd_bytes_in_their_names_are_read(tmp_path: Path, encoder: Encoder) -> None:
    folder = tmp_path / _ODD
    folder.mkdir()
    (folder / f"{_ODD}.txt").write_text("Karl Marx was born in Trier.", encoding="utf-8")
    base = tmp_path / "kb"
    assert KnowledgeBase.build(base, [folder], encoder=encoder).counts["documents"] == 1
    json.dumps(KnowledgeBase.open(base, encoder=encoder).info(), ensure_ascii=False).encode()
    nodes = pa.table({"id": [1], "name": ["a"]})
    edges = pa.table({"src": [1], "relation": ["r"], "dst": [1]})
    for name, table in (("nodes", nodes), ("edges", edges)):
        with (folder / f"{name}.parquet").open("wb") as file:
            pq.write_table(table, file)
    with pytest.raises(GraphFormatError, match="is not UTF-8: rename the folder"):
        read_edges(folder)


def test_an_emptied_store_is_refused_instead_of_forgetting_documents(
    tmp_path: Path, encoder: Encoder
) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("Karl Marx was born in Trier.", encoding="utf-8")
    second.write_text("Bob Dylan sang in Duluth.", encoding="utf-8")
    base = tmp_path / "kb"
    KnowledgeBase.build(base, [first], encoder=encoder)
    before = live_folder(base)
    for path in base.glob("meta.sqlite*"):
        path.unlink()
    (base / "meta.sqlite").touch()
    with pytest.raises(SnapshotError, match=r"holds 0 documents, but its snapshot has 1: meta\.sqlite"):
        KnowledgeBase.build(base, [second], encoder=encoder)
    assert live_folder(base) == before
    assert len(table_rows(base, "documents")) == 1


def test_a_changed_record_that_cannot_be_stored_keeps_its_former_version(
    tmp_path: Path, encoder: Encoder
) -> None:
    source, base = tmp_path / "records.jsonl", tmp_path / "kb"
    taken = {"id": "a#0", "text": "Karl Marx was born in Trier."}
    source.write_text("\n".join(map(json.dumps, [{"id": "a", "text": "Ada was born in Bath."}, taken])))
    KnowledgeBase.build(base, [source], encoder=encoder)
    longer = {"id": "a", "text": "Ada was born in Bath and lived in Paris. " * 60}
    source.write_text("\n".join(map(json.dumps, [longer, taken])))
    report = KnowledgeBase.build(base, [source], encoder=encoder)
    assert len(report.problems) == 1
    chunks = table_rows(base, "chunks")
    assert {row["id"]: row["text"] for row in chunks} == {"a": "Ada was born in Bath.", "a#0": taken["text"]}
