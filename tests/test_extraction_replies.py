"""What models reply when they are to extract: read, asked for again, salvaged, or failed with a reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.bases import read_lines
from tests.scripted_reader import BORN, BUILT, TOWER, WHOLE, facts, read
from ytrag_core.documents.model import Chunk
from ytrag_core.errors import LLMError
from ytrag_core.extraction.grounding import grounded, runs_on
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.reply import ChunkReply
from ytrag_core.extraction.tolerant import read_records
from ytrag_core.llm.chat import Completion
from ytrag_core.llm.structured import response_schema
from ytrag_core.schema.load import load_schema

if TYPE_CHECKING:
    from pathlib import Path


def test_a_proper_reply_becomes_an_extraction() -> None:
    reading, llm = read(json.dumps(WHOLE))
    assert (reading.status, reading.reason, reading.proposals) == ("done", "", ())
    assert reading.extraction == Extraction(
        "t",
        (EntityMention("Salt Tower", "structure"), EntityMention("Rufina Stell", "person", ("Stell",))),
        (BUILT, BORN),
        (("Rufina Stell", "birth date", "1742"),),
    )
    assert (reading.usage.llm_calls, reading.usage.prompt_tokens) == (1, 100)
    assert [message.role for message in llm.heard[0]] == ["system", "user", "assistant", "user"]
    asked = llm.heard[0][-1].content
    assert "- born in (person" in asked
    assert TOWER.text in asked
    assert llm.schemas[0] == response_schema(ChunkReply)


@pytest.mark.parametrize(
    "wrapped",
    [
        "```json\n{}\n```",
        "<think>The tower {was} designed...</think>\n{}",
        "Here is the graph:\n\n{}\n\nLet me know if you need more.",
        "<think>\n{}",
        '{{"result": {}}}',
        "[{}]",
    ],
)
def test_what_stands_around_the_json_does_not_matter(wrapped: str) -> None:
    reply = wrapped.replace("{{", "{").replace("{}", json.dumps(WHOLE)) if wrapped[:2] != "{{" else None
    reading, llm = read(reply or json.dumps({"result": WHOLE}))
    assert reading.status == "done", reading.reason
    assert {BUILT, BORN} <= facts(reading)
    assert len(llm.heard) == 1


def test_a_malformed_reply_is_asked_for_again_once() -> None:
    reading, llm = read("I could not find a graph.", json.dumps(WHOLE))
    assert (reading.status, len(llm.heard)) == ("done", 2)
    assert llm.heard[1][-2].content == "I could not find a graph."
    assert reading.usage.llm_calls == 2
    once, llm = read("I could not find a graph.", json.dumps(WHOLE), repair=False)
    assert (once.status, len(llm.heard)) == ("failed", 1)


def test_what_cannot_be_repaired_is_salvaged_or_fails_with_its_reason() -> None:
    arrows = "The facts:\n1. Rufina Stell --built--> Salt Tower\n2. Rufina Stell -[born in]-> Ismarra\n"
    reading, llm = read(arrows)
    assert (reading.status, len(llm.heard)) == ("salvaged", 2)
    assert facts(reading) == {BUILT, BORN}
    assert "facts kept: 2" in reading.reason
    worse, _ = read(arrows, "Sorry.")
    assert facts(worse) == {BUILT, BORN}
    nothing, _ = read("I am only a model.")
    assert (nothing.status, nothing.extraction) == ("failed", None)
    assert "I am only a model" in nothing.reason


def test_a_cut_reply_is_asked_to_go_on() -> None:
    text = json.dumps({"entities": WHOLE["entities"], "relations": WHOLE["relations"]})
    cut = Completion(text[: text.rindex('{"head"')], 100, 20, "length")
    rest = json.dumps({"relations": [list(BORN)]})
    reading, llm = read(cut, rest)
    assert (reading.status, len(llm.heard)) == ("done", 2)
    assert {BUILT, BORN} <= facts(reading)
    assert llm.heard[1][-2].content == cut.text
    still_cut, llm = read(cut)
    assert (still_cut.status, len(llm.heard)) == ("salvaged", 2)
    assert "cut" in still_cut.reason
    alone, llm = read(cut, repair=False)
    assert (alone.status, len(llm.heard)) == ("salvaged", 1)
    broken, _ = read(cut, LLMError("the line is dead"))
    assert broken.status == "salvaged"
    assert "the line is dead" in broken.reason


ENDLESS = [
    {"name": f"size of weight of {what}", "type": "attribute", "aliases": []}
    for what in (
        "area",
        "mass",
        "volume",
        "length",
        "number",
        "mass of mass",
        "area of mass",
        "volume of area",
    )
]


def test_a_reply_that_has_left_its_passage_is_not_asked_to_go_on() -> None:
    entities: Any = WHOLE["entities"]
    said = json.dumps(WHOLE | {"entities": [*entities, *ENDLESS]})
    reading, llm = read(Completion(said, 100, 20, "length"), json.dumps(WHOLE))
    assert len(llm.heard) == 1
    assert reading.status == "salvaged"
    assert "no longer speaks of the passage" in reading.reason
    assert reading.extraction is not None
    assert set(reading.extraction.triples) == {BUILT, BORN}
    assert [mention.name for mention in reading.extraction.entities] == ["Salt Tower", "Rufina Stell"]


def test_an_alias_that_the_passage_does_not_use_is_left_out() -> None:
    stell = {
        "name": "Rufina Stell",
        "type": "person",
        "aliases": ["Stell", "Stell's Organisation", "Ada Pell"],
    }
    reading, _ = read(json.dumps(WHOLE | {"entities": [stell]}))
    assert reading.extraction is not None
    assert reading.extraction.entities == (EntityMention("Rufina Stell", "person", ("Stell",)),)


def test_a_list_that_repeats_itself_runs_on() -> None:
    passage = TOWER.text.casefold()
    records = read_records({"relations": [list(BUILT), list(BORN)] * 2})
    assert records is not None
    assert not runs_on(records, passage), "too few to tell"
    records = read_records({"relations": [list(BUILT), list(BORN)] * 5})
    assert records is not None
    assert runs_on(records, passage)
    names = ["Salt", "Tower", "Rufina", "Stell", "Ismarra", "1742", "Salt Tower", "Rufina Stell"]
    records = read_records({"entities": names})
    assert records is not None
    assert not runs_on(records, passage)


def test_a_failing_endpoint_is_told_from_a_bad_reply() -> None:
    reading, _ = read(LLMError("HTTP 500"))
    assert (reading.status, reading.endpoint_failed, reading.reason) == ("failed", True, "HTTP 500")
    reading, _ = read("no")
    assert (reading.status, reading.endpoint_failed) == ("failed", False)


def test_what_the_passage_does_not_name_is_set_aside() -> None:
    copied = {
        "entities": [{"name": "Ada Marrick", "type": "person"}, {"name": "Salt Tower", "type": "structure"}],
        "relations": [
            ["Ada Marrick", "born in", "Pell Sound"],
            list(BUILT),
            ["Salt Tower", "built", "salt tower"],
        ],
        "attributes": [["Wren of Tollan", "length", "31 metres"]],
    }
    reading, _ = read(json.dumps(copied))
    assert facts(reading) == {BUILT}
    assert reading.extraction is not None
    assert [mention.name for mention in reading.extraction.entities] == ["Salt Tower"]
    assert len(reading.extraction.malformed) == 4


@pytest.mark.parametrize(
    ("name", "passage", "is_there"),
    [
        ("Tom Marrick", "ada and tom marrick met", True),
        ("Marrick's boat", "ada marrick met him", True),
        ("U2", "the band u2 played", True),
        ("林黛玉", "黛玉听了", True),
        ("林黛玉", "宝玉听了", False),
        ("Pell Sound", "nothing of it", False),
        ("in", "nothing within it", True),
    ],
)
def test_names_are_grounded_by_a_word(name: str, passage: str, is_there: bool) -> None:
    assert grounded(name, passage) is is_there


def test_recorded_replies_end_in_triples_where_they_have_any(shared_data: Path) -> None:
    folder = shared_data / "hongloumeng_extraction_zh"
    chunks = {row["id"]: row for row in read_lines(folder / "corpus.jsonl")}
    replies: dict[str, list[str | Completion | LLMError]] = {}
    for row in read_lines(folder / "raw_responses.jsonl"):
        replies.setdefault(row["passage_id"], []).append(row["response"])
    recorded = {row["passage_id"]: row for row in read_lines(folder / "openie.jsonl")}
    statuses = {}
    for passage_id, row in chunks.items():
        chunk = Chunk(passage_id, passage_id, row["title"], row["text"], 0, len(row["text"]))
        reading, llm = read(*replies[passage_id], chunk=chunk, schema=load_schema("general_zh"))
        statuses[passage_id] = reading.status
        assert llm.heard[0][0].content.startswith("你阅读一段文字")
        if reading.extraction is not None:
            stated = {tuple(triple) for triple in recorded[passage_id]["triples"]}
            assert set(reading.extraction.triples) <= stated
            assert reading.extraction.triples
    cut_short = {"hlm-002", "hlm-003"}  # two replies stop before the first relation
    assert {each for each, status in statuses.items() if status == "failed"} == cut_short
    assert {status for each, status in statuses.items() if each not in cut_short} == {"salvaged"}
