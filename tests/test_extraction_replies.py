"""What models reply when they are to extract: every shape and flaw is read, or set aside with a reason."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.bases import read_lines
from ytrag_core.config import ExtractionSettings
from ytrag_core.documents.model import Chunk
from ytrag_core.errors import LLMError
from ytrag_core.extraction.bounds import bounded, proposals_of
from ytrag_core.extraction.by_model import ModelExtractor, Reading
from ytrag_core.extraction.grounding import grounded, runs_on
from ytrag_core.extraction.menu import MenuMaker
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.reply import ChunkReply
from ytrag_core.extraction.salvage import breaks_off, salvage_records
from ytrag_core.extraction.tolerant import TypeRecord, read_records
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.prompts import prompt_names
from ytrag_core.llm.structured import response_schema
from ytrag_core.schema.load import load_schema
from ytrag_core.schema.model import AttributeType, EntityType, GraphSchema, RelationType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

TOWER = Chunk(
    "t",
    "d",
    "Salt Tower",
    "The Salt Tower was designed by Rufina Stell. Rufina Stell was born in Ismarra in 1742.",
    0,
    85,
)
ORGAN = Chunk("z", "d", "盐管风琴", "盐管风琴由托宾·阿克韦尔于1690年建造，立在宁布雷尔。", 0, 28)
BUILT = ("Rufina Stell", "built", "Salt Tower")
BORN = ("Rufina Stell", "born in", "Ismarra")
WHOLE = {
    "entities": [
        {"name": "Salt Tower", "type": "structure", "aliases": []},
        {"name": "Rufina Stell", "type": "person", "aliases": ["Stell"]},
    ],
    "attributes": [{"entity": "Rufina Stell", "attribute": "birth date", "value": "1742"}],
    "relations": [dict(zip(("head", "relation", "tail"), triple, strict=True)) for triple in (BUILT, BORN)],
    "new_types": [],
}


@dataclass
class Scripted:
    """Says one thing after the other, the last one for ever; an error is raised."""

    replies: list[str | Completion | LLMError]
    heard: list[list[Message]] = field(default_factory=list)
    schemas: list[Mapping[str, Any] | None] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        reply = self.replies[min(len(self.heard), len(self.replies) - 1)]
        self.heard.append(list(messages))
        self.schemas.append(schema)
        if isinstance(reply, LLMError):
            raise reply
        return reply if isinstance(reply, Completion) else Completion(reply, 100, 20, "stop")


def read(
    *replies: str | Completion | LLMError,
    chunk: Chunk = TOWER,
    schema: GraphSchema | None = None,
    repair: bool = True,
    **settings: Any,
) -> tuple[Reading, Scripted]:
    llm = Scripted(list(replies))
    chosen = schema or load_schema("general_zh" if chunk is ORGAN else "general")
    extractor = ModelExtractor(llm, "scripted", chosen, ExtractionSettings(**settings))
    return extractor.read(chunk, extractor.menus([chunk])[0], repair=repair), llm


def facts(reading: Reading) -> set[tuple[str, str, str]]:
    assert reading.extraction is not None, reading.reason
    return {*reading.extraction.triples, *reading.extraction.attributes}


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


@pytest.mark.parametrize(
    ("kind", "kept"), [("attribute", ""), ("Entity", ""), ("类型", ""), ("unknown", ""), ("ship", "ship")]
)
def test_a_word_of_the_form_is_no_type(kind: str, kept: str) -> None:
    records = read_records({"entities": [{"name": "Stell", "type": kind}]})
    assert records is not None
    assert records.entities[0].type == kept


def test_the_name_of_an_attribute_is_no_type_of_an_entity() -> None:
    schema = load_schema("general")
    extraction = Extraction("t", (EntityMention("Salt Tower", "birth date"), EntityMention("Stell", "mason")))
    assert [mention.type for mention in bounded(extraction, schema, "propose").entities] == ["", "mason"]
    assert [one.name for one in proposals_of(TOWER, extraction, (), schema)] == ["mason"]


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


def test_the_schema_spells_types_and_bounds_them() -> None:
    schema = load_schema("general")
    said = Extraction(
        "t",
        (EntityMention("Salt Tower", "Structure"), EntityMention("Stell", "architect")),
        (("Stell", "BUILT", "Salt Tower"), ("Stell", "admired", "Salt Tower")),
        (("Stell", "Birth Date", "1742"), ("Stell", "shoe size", "43")),
    )
    kept = bounded(said, schema, "propose")
    assert [mention.type for mention in kept.entities] == ["structure", "architect"]
    assert [triple[1] for triple in kept.triples] == ["built", "admired"]
    dropped = bounded(said, schema, "drop")
    assert [mention.type for mention in dropped.entities] == ["structure", ""]
    assert [triple[1] for triple in dropped.triples] == ["built"]
    assert len(dropped.attributes) == len(kept.attributes) - 1
    assert len(dropped.malformed) == 2
    assert bounded(said, None, "drop") is said


def test_types_that_the_schema_lacks_are_proposed_with_evidence() -> None:
    value = {
        "entities": [{"name": "Salt Tower", "type": "lighthouse"}],
        "relations": [["Rufina Stell", "designed", "Salt Tower"], list(BORN)],
        "new_types": [
            {"kind": "relation", "name": "Designed", "description": "Head drew tail.", "confidence": "90%"},
            {"kind": "relation", "name": "never used", "confidence": 1},
        ],
    }
    reading, llm = read(json.dumps(value))
    proposals = {(proposal.kind, proposal.name): proposal for proposal in reading.proposals}
    assert set(proposals) == {("entity", "lighthouse"), ("relation", "Designed")}
    designed = proposals["relation", "Designed"]
    assert designed.description == "Head drew tail."
    assert designed.confidence == pytest.approx(0.9)
    assert (designed.chunk_id, designed.document_id) == ("t", "d")
    assert "was designed by Rufina Stell" in designed.evidence
    assert "new_types" in llm.heard[0][0].content
    reading, _ = read(json.dumps(value), unknown_types="drop")
    assert reading.proposals == ()


def _schema(n_types: int) -> GraphSchema:
    return GraphSchema(
        name="large",
        entity_types=tuple(EntityType(name=f"kind {n}") for n in range(n_types)),
        relation_types=tuple(RelationType(name=f"link {n}") for n in range(n_types)),
        attribute_types=(AttributeType(name="size"),),
    )


def test_of_a_large_schema_each_prompt_names_the_nearest_types() -> None:
    asked: list[str] = []

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        asked.extend(texts)
        numbers = [int("".join(filter(str.isdigit, text)) or 0) for text in texts]
        angles = np.array(numbers, np.float32)[:, None] / 200
        return np.hstack([np.cos(angles), np.sin(angles)]).astype(np.float32)

    maker = MenuMaker(_schema(200), 5, encode)
    near, far = maker.menus(["passage 3", "passage 150"])
    assert [kind.name for kind in near.entity_types] == [f"kind {n}" for n in (1, 2, 3, 4, 5)]
    assert [link.name for link in far.relation_types] == [f"link {n}" for n in (148, 149, 150, 151, 152)]
    assert [attribute.name for attribute in near.attribute_types] == ["size"]
    assert len(asked) == 402
    whole = MenuMaker(_schema(5), 5, encode).menus(["passage 3"])
    assert len(whole[0].entity_types) == 5
    assert len(asked) == 402
    (first,) = MenuMaker(_schema(200), 5).menus(["passage 150"])
    assert [kind.name for kind in first.entity_types] == [f"kind {n}" for n in range(5)]


def test_the_real_encoder_finds_the_types_of_a_passage(encoder: Any) -> None:
    kinds = (
        "river",
        "disease",
        "symphony",
        "statute",
        "protein",
        "battle",
        "asteroid",
        "recipe",
        "court",
        "dance",
    )
    schema = GraphSchema(name="mixed", entity_types=tuple(EntityType(name=kind) for kind in kinds))
    maker = MenuMaker(schema, 3, encoder.encode)
    texts = [
        "The composer conducted his ninth orchestral work.",
        "The Orrin flows past Quellmouth to the sea.",
    ]
    music, water = maker.menus(texts)
    assert "symphony" in {kind.name for kind in music.entity_types}
    assert "river" in {kind.name for kind in water.entity_types}


def test_extractions_are_kept_apart_by_all_that_they_depend_on(tmp_path: Path) -> None:
    def key(schema: str = "general", model: str = "m", prompts: Path | None = None, **settings: Any) -> str:
        made = ExtractionSettings(**settings)
        return ModelExtractor(Scripted([""]), model, load_schema(schema), made, prompts=prompts).key

    (tmp_path / "extract.en.txt").write_text("Read this: {types_rule}", encoding="utf-8")
    keys = [
        key(),
        key(model="n"),
        key(schema="general_zh"),
        key(style="sentences"),
        key(unknown_types="drop"),
        key(prompts=tmp_path),
    ]
    assert len(set(keys)) == len(keys)
    assert key() == key(concurrency=2, max_tokens=5, fallback="none")


def test_sentence_style_chooses_among_names_found_by_rules() -> None:
    reply = {"triples": [{"head": "Rufina Stell", "relation": "built", "tail": "Salt Tower"}]}
    reading, llm = read(json.dumps(reply), style="sentences")
    assert reading.status == "done"
    assert reading.extraction is not None
    assert reading.extraction.triples == (BUILT,)
    assert {mention.name for mention in reading.extraction.entities} >= {"Rufina Stell", "Ismarra"}
    assert len(llm.heard) == 2
    head = json.dumps(llm.schemas[0])
    assert '"enum": ["Salt Tower", "Rufina Stell"]' in head
    assert '"married to"' in head
    assert llm.heard[1][-1].content.endswith("Rufina Stell was born in Ismarra in 1742.")
    assert reading.proposals == ()


def test_sentence_style_loses_only_the_sentence_that_fails() -> None:
    good = {"triples": [{"head": "Rufina Stell", "relation": "born in", "tail": "Ismarra"}]}
    reading, _ = read("no", "no", json.dumps(good), style="sentences")
    assert (reading.status, reading.extraction and reading.extraction.triples) == ("salvaged", (BORN,))
    assert "1 of 2 sentences failed" in reading.reason
    reading, _ = read("no", style="sentences")
    assert (reading.status, reading.extraction) == ("failed", None)
    invented = {"triples": [{"head": "Ada", "relation": "built", "tail": "Ismarra"}]}
    reading, _ = read(json.dumps(invented), style="sentences")
    assert "Ada" not in str(reading.extraction)


def test_chinese_passages_are_asked_about_in_chinese() -> None:
    reply = {
        "entities": [{"name": "盐管风琴", "type": "器物"}],
        "attributes": [["盐管风琴", "起始时间", "1690年"]],
        "relations": [["托宾·阿克韦尔", "建造", "盐管风琴"], ["盐管风琴", "位于", "宁布雷尔"]],
    }
    reading, llm = read(json.dumps(reply, ensure_ascii=False), chunk=ORGAN)
    assert len(facts(reading)) == 3
    assert llm.heard[0][0].content.startswith("你阅读一段文字")
    assert "- 位于（" in llm.heard[0][-1].content or "- 位于 (" in llm.heard[0][-1].content
    reading, llm = read('{"triples": []}', chunk=ORGAN, style="sentences")
    assert reading.status == "done"
    assert llm.heard[0][-1].content.startswith("名称：")


def test_a_passage_comes_with_the_headings_that_it_stands_under() -> None:
    quays = replace(TOWER, title="Harbour", heading="Old quays > Towers")
    for style in ("chunk", "sentences"):
        _, llm = read('{"triples": []}', chunk=quays, style=style)
        assert "Harbour > Old quays > Towers" in llm.heard[0][-1].content


def test_every_prompt_of_extraction_is_there_in_both_languages() -> None:
    names = {name for name in prompt_names() if name.startswith("extract")}
    assert {
        "extract",
        "extract_passage",
        "extract_continue",
        "extract_sentence",
        "extract_example_reply",
    } <= names
    for chunk in (TOWER, ORGAN):
        for style in ("chunk", "sentences"):
            extractor = ModelExtractor(
                Scripted([""]), "m", load_schema("general"), ExtractionSettings(style=style)
            )
            n_in, usual, most = extractor.cost(chunk, extractor.menus([chunk])[0])
            assert 0 < usual <= most
            assert n_in > 100
