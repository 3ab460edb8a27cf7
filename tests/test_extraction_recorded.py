from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.errors import DocumentError, SnapshotError
from ytrag_core.extraction.codec import extraction_from_json, extraction_to_json
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.recorded import _are_surfaces, _surface, read_openie


def write(folder: Path, corpus: list[object], openie: list[object]) -> Path:
    for name, rows in (("corpus.jsonl", corpus), ("openie.jsonl", openie)):
        lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


CORPUS: list[object] = [
    {"id": "p0", "title": "Bridge", "text": "The bridge."},
    {"id": 1, "title": "Mill", "text": "The mill."},
]


def test_passages_and_triples(tmp_path: Path) -> None:
    line = {
        "passage_id": "p0",
        "entities": ["Bridge", {"name": "Ada", "type": "person"}, "Bridge"],
        "entity_types": {"Bridge": "structure"},
        "triples": [["Bridge", "built  by", "Ada"], ["Bridge", "built by", " Ada "]],
    }
    source = read_openie(write(tmp_path, CORPUS, [line]))
    assert [(d.id, d.title, d.has_record_id) for d in source.documents] == [
        ("p0", "Bridge", True),
        ("1", "Mill", True),
    ]
    assert source.extractions == {
        "p0": Extraction(
            "p0",
            entities=(EntityMention("Bridge", "structure"), EntityMention("Ada", "person")),
            triples=(("Bridge", "built by", "Ada"),),
        )
    }
    assert (source.problems, source.n_malformed, source.n_without_extraction) == ([], 0, 1)


def test_malformed_triples_are_counted_and_lose_nothing_else(tmp_path: Path) -> None:
    line = {
        "passage_id": 1,
        "entities": ["Mill", "", 5, {"type": "x"}],
        "triples": [
            ["Mill", "grinds", "corn"],
            ["Mill", "grinds"],
            ["Mill", "", "corn"],
            ["Mill", "since", 1850],
            ["Mill", ["nested"], "corn"],
            "Mill grinds corn",
            {"head": "Mill"},
        ],
        "malformed_triples": [["Mill", "stands"], ["a", "b", "c"]],
    }
    source = read_openie(write(tmp_path, CORPUS, [line]))
    extraction = source.extractions["1"]
    assert extraction.entities == (EntityMention("Mill"),)
    assert extraction.triples == (("Mill", "grinds", "corn"),)
    assert extraction.malformed == (
        ('["Mill", "grinds"]', "2 parts instead of 3"),
        ('["Mill", "", "corn"]', "an empty part"),
        ('["Mill", "since", 1850]', "a part is no string"),
        ('["Mill", ["nested"], "corn"]', "a part is no string"),
        ('"Mill grinds corn"', "not an array"),
        ('{"head": "Mill"}', "not an array"),
        ('["Mill", "stands"]', "2 parts instead of 3"),
        ('["a", "b", "c"]', "recorded as malformed"),
    )
    assert source.n_malformed == 8
    (problem,) = source.problems
    assert problem.source.endswith("openie.jsonl:1")
    assert problem.reason.startswith("8 malformed triples set aside (2 x 2 parts instead of 3,")
    assert "3 x malformed entity" in problem.reason


def test_bad_lines_are_problems(tmp_path: Path) -> None:
    corpus = [*CORPUS, {"id": "p0", "text": "again"}, {"text": "no id"}, {"id": "empty", "text": " "}]
    openie: list[object] = [
        {"passage_id": "nowhere", "triples": [["a", "b", "c"]]},
        {"passage_id": "empty", "triples": []},
        {"triples": []},
        {"passage_id": {}, "triples": []},
        '{"passage_id": "p0", "triples": [["a", "b", NaN]]}',
        "not json",
        {"passage_id": "p0", "entities": "Bridge", "triples": {"a": 1}, "entity_types": []},
    ]
    source = read_openie(write(tmp_path, corpus, openie))
    assert [document.id for document in source.documents] == ["p0", "1"]
    where = [Path(problem.source).name for problem in source.problems]
    assert where == [f"corpus.jsonl:{n}" for n in (3, 4, 5)] + [f"openie.jsonl:{n}" for n in range(1, 8)]
    assert "NaN" in source.problems[7].reason
    assert source.extractions == {"p0": Extraction("p0")}


def test_several_lines_on_one_passage_are_joined(tmp_path: Path) -> None:
    openie: list[object] = [
        {"passage_id": "p0", "entities": ["A", "B"], "triples": [["A", "r", "B"]]},
        {
            "passage_id": "p0",
            "entities": [{"name": "A", "type": "t"}, "C"],
            "triples": [["A", "r", "B"], ["B", "r", "C"]],
        },
    ]
    extraction = read_openie(write(tmp_path, CORPUS, openie)).extractions["p0"]
    assert [mention.name for mention in extraction.entities] == ["A", "B", "C"]
    assert extraction.triples == (("A", "r", "B"), ("B", "r", "C"))


def test_repeats_count_once_whether_clean_or_not(tmp_path: Path) -> None:
    clean = {"passage_id": "p0", "entities": ["A", "B", "A"], "triples": [["A", "r", "B"], ["A", "r", "B"]]}
    odd = {
        "passage_id": 1,
        "entities": [" A", "B", "A"],
        "triples": [["A ", "r", "B"], ["A", "r\u200b", "B"]],
    }
    source = read_openie(write(tmp_path, CORPUS, [clean, odd]))
    for extraction in source.extractions.values():
        assert extraction.entities == (EntityMention("A"), EntityMention("B"))
        assert extraction.triples == (("A", "r", "B"),)


PARTS = st.one_of(
    st.text(st.sampled_from("ab红 \t\0\u3000\u200b\ufeff\ud800\r"), max_size=4),
    st.sampled_from(["clean", "two words", "É", "红楼"]),
    st.none(),
    st.integers(),
)


@given(st.lists(PARTS, min_size=1, max_size=4))
def test_strings_that_need_no_cleaning_are_told(values: list[object]) -> None:
    clean = all(isinstance(value, str) and value and _surface(value) == value for value in values)
    assert _are_surfaces(values) == clean


@pytest.mark.parametrize("missing", ["corpus.jsonl", "openie.jsonl"])
def test_missing_file_says_what_is_wanted(tmp_path: Path, missing: str) -> None:
    write(tmp_path, CORPUS, [])
    (tmp_path / missing).unlink()
    with pytest.raises(DocumentError, match=f"no file {missing}.*openie.jsonl {{passage_id"):
        read_openie(tmp_path)


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="does not exist"):
        read_openie(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(DocumentError, match="is a file"):
        read_openie(tmp_path / "file")


@pytest.mark.parametrize(
    ("name", "n_passages", "n_malformed", "n_problems"),
    [
        ("musique_train", 1890, 185, 106),
        ("lightrag_film_24", 3, 0, 0),
        ("hongloumeng_extraction_zh", 7, 0, 0),
    ],
)
def test_recorded_folders(
    shared_data: Path, name: str, n_passages: int, n_malformed: int, n_problems: int
) -> None:
    source = read_openie(shared_data / name)
    assert len(source.documents) == len(source.extractions) == n_passages
    assert (source.n_malformed, len(source.problems)) == (n_malformed, n_problems)


def test_codec_is_lossless() -> None:
    extraction = Extraction(
        "c",
        entities=(EntityMention("A", "person", ("Aa",)), EntityMention("乙")),
        triples=(("A", "knows", "乙"),),
        attributes=(("A", "born", "1990"),),
        malformed=(("x", "reason"),),
    )
    payload = json.loads(json.dumps(extraction_to_json(extraction)))
    assert extraction_from_json("c", payload) == extraction
    assert extraction_to_json(Extraction("c")) == {}


@pytest.mark.parametrize(
    "payload", [{"triples": [["a", "b"]]}, {"entities": [["a"]]}, {"triples": [["a", "b", 3]]}]
)
def test_damaged_payload_is_named(payload: dict[str, object]) -> None:
    with pytest.raises(SnapshotError, match="'c7' is damaged"):
        extraction_from_json("c7", payload)
