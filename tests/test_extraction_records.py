"""Records in what models write: every shape and notation is read, what is none is set aside with a reason."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.scripted_reader import BORN, BUILT, read
from ytrag_core.extraction.model import EntityMention
from ytrag_core.extraction.reply import ChunkReply
from ytrag_core.extraction.salvage import breaks_off, salvage_records
from ytrag_core.extraction.tolerant import TypeRecord, read_records

SHAPES: list[tuple[Any, set[tuple[str, str, str]], set[tuple[str, str]]]] = [
    ({"triples": [list(BUILT)]}, {BUILT}, set()),
    ({"relationships": [{"source": BUILT[0], "type": "built", "target": BUILT[2]}]}, {BUILT}, set()),
    ({"edges": [{"subject": BUILT[0], "predicate": "built", "object": BUILT[2]}]}, {BUILT}, set()),
    ({"Relations": {"head": BUILT[0], "relation": "built", "tail": BUILT[2]}}, {BUILT}, set()),
    ({"relations": json.dumps([list(BUILT)])}, {BUILT}, set()),
    (
        [{"head": BUILT[0], "relation": "built", "tail": BUILT[2]}, {"name": "Ismarra"}],
        {BUILT},
        {("Ismarra", "")},
    ),
    (
        {"relations": [{"head": ["A", "B"], "relation": "r", "tail": ["C", {"name": "D"}]}]},
        {("A", "r", "C"), ("A", "r", "D"), ("B", "r", "C"), ("B", "r", "D")},
        set(),
    ),
    ({"entities": "Ismarra", "relations": None}, set(), {("Ismarra", "")}),
    ({"entities": [["Ismarra", "place"], "Stell"]}, set(), {("Ismarra", "place"), ("Stell", "")}),
    ({"entities": {"Ismarra": "place"}}, set(), {("Ismarra", "place")}),
    ({"entities": {"place": ["Ismarra", "Nimbrel"]}}, set(), {("Ismarra", "place"), ("Nimbrel", "place")}),
    ({"nodes": [{"entity_name": "Ismarra", "entity_type": "place"}]}, set(), {("Ismarra", "place")}),
    ({"nodes": [{"entity": {"name": "Ismarra"}, "label": ["place"]}]}, set(), {("Ismarra", "place")}),
    ({"实体": [{"名称": "宁布雷尔", "类型": "地点"}]}, set(), {("宁布雷尔", "地点")}),
    ({"三元组": [{"头实体": "甲", "关系": "位于", "尾实体": "乙"}]}, {("甲", "位于", "乙")}, set()),
    (
        {"attributes": {"Stell": {"born": 1742, "height": 1.5, "titles": ["count", "baron"]}}},
        {
            ("Stell", "born", "1742"),
            ("Stell", "height", "1.5"),
            ("Stell", "titles", "count"),
            ("Stell", "titles", "baron"),
        },
        set(),
    ),
    (
        {"attributes": {"Stell": ["born: 1742", "头衔：伯爵"]}},
        {("Stell", "born", "1742"), ("Stell", "头衔", "伯爵")},
        set(),
    ),
    (
        {"entities": [{"name": "Stell", "type": "person", "attributes": {"born": "1742"}}]},
        {("Stell", "born", "1742")},
        {("Stell", "person")},
    ),
    ({"attributes": [["Stell", "born", "1742"]]}, {("Stell", "born", "1742")}, set()),
]


@pytest.mark.parametrize(("value", "stated", "named"), SHAPES)
def test_records_are_read_in_any_shape(
    value: Any, stated: set[tuple[str, str, str]], named: set[tuple[str, str]]
) -> None:
    records = ChunkReply.model_validate(value).records
    assert {*records.triples, *records.attributes} == stated
    assert {(mention.name, mention.type) for mention in records.entities} == named
    assert not records.malformed


def test_what_is_no_record_is_set_aside_with_its_reason() -> None:
    value = {
        "entities": [{"name": ""}, {"name": "unknown"}, {"name": "x" * 500}, {"name": True}, 7.5, {"a": 1}],
        "relations": [
            ["A", "B"],
            ["A", "", "B"],
            {"head": "A", "tail": "B"},
            "A knows B",
            ["A", "r", "未知"],
        ],
        "attributes": [
            {"entity": "A", "attribute": "born"},
            {"entity": "A", "attribute": "b", "value": "N/A"},
        ],
        "new_types": [{"name": "robot"}, {"kind": "planet", "name": "x"}],
    }
    records = read_records(value)
    assert records is not None
    assert [mention.name for mention in records.entities] == ["7.5"]
    assert (records.triples, records.attributes, records.new_types) == ([], [], [])
    assert len(records.malformed) == 14
    assert all(reason for _, reason in records.malformed)


@pytest.mark.parametrize(
    ("kind", "kept"), [("attribute", ""), ("Entity", ""), ("类型", ""), ("unknown", ""), ("ship", "ship")]
)
def test_a_word_of_the_form_is_no_type(kind: str, kept: str) -> None:
    records = read_records({"entities": [{"name": "Stell", "type": kind}]})
    assert records is not None
    assert records.entities[0].type == kept


@pytest.mark.parametrize(
    ("stated", "confidence"),
    [
        (0.8, 0.8),
        ("80%", 0.8),
        (80, 0.8),
        (8, 0.8),
        ("high", 0.85),
        ("很高", 0.95),
        (None, 0.5),
        ("?", 0.5),
        (-1, 0.5),
    ],
)
def test_confidence_is_read_as_a_share(stated: object, confidence: float) -> None:
    records = read_records({"new_types": [{"kind": "Entity Type", "name": "robot", "confidence": stated}]})
    assert records is not None
    (robot,) = records.new_types
    assert replace(robot, confidence=0.0) == TypeRecord("entity", "robot", "", 0.0)
    assert robot.confidence == pytest.approx(confidence)


def test_records_said_twice_count_once() -> None:
    twice = {
        "entities": [
            {"name": "Rufina Stell", "type": "", "aliases": "Stell, R. Stell"},
            {"name": "Rufina Stell", "type": "person", "aliases": ["Stell"]},
        ],
        "relations": [list(BUILT), list(BUILT)],
    }
    text = json.dumps(twice)
    duplicated = text[:-1] + f', "relations": [{json.dumps(list(BORN))}]}}'
    reading, _ = read(duplicated)
    assert reading.extraction is not None
    assert reading.extraction.entities == (EntityMention("Rufina Stell", "person", ("Stell", "R. Stell")),)
    assert reading.extraction.triples == (BUILT, BORN)


@pytest.mark.parametrize(
    "text",
    [
        "| head | relation | tail |\n|---|---|---|\n| Rufina Stell | built | Salt Tower |",
        "(Rufina Stell, built, Salt Tower)\n",
        "（Rufina Stell，built，Salt Tower）",
        "- Rufina Stell → built → Salt Tower",
        "Rufina Stell | built | Salt Tower",
        '("relationship"<|>Rufina Stell<|>Salt Tower<|>built<|>9)##("entity"<|>Is',
        'noise {"head": "Rufina Stell", "relation": "built", "tail": "Salt Tower"} noise [1, 2',
        'first ["Rufina Stell", "built", "Salt Tower"], then, I think',
    ],
)
def test_triples_are_salvaged_from_other_notations(text: str) -> None:
    records = salvage_records(text)
    assert records is not None
    assert records.triples == [BUILT]


@pytest.mark.parametrize(
    ("text", "is_broken"),
    [
        ('{"a": [1, 2', True),
        ('{"a": "never ends', True),
        ('{"a": "}"', True),
        ('{"a": "\\""}', False),
        ("prose", False),
        ('```json\n{"a": 1}\n``` and {more', False),
        ('<think>{</think>{"a": 1}', False),
    ],
)
def test_a_reply_that_breaks_off_is_noticed(text: str, is_broken: bool) -> None:
    assert breaks_off(text) is is_broken
