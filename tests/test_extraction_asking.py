"""What a model is asked about a passage: by the schema's types, in a style and a language; held to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.scripted_reader import BORN, BUILT, ORGAN, TOWER, Scripted, facts, read
from ytrag_core.config import ExtractionSettings
from ytrag_core.extraction.bounds import bounded, proposals_of
from ytrag_core.extraction.by_model import ModelExtractor
from ytrag_core.extraction.menu import MenuMaker
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.llm.prompts import prompt_names
from ytrag_core.schema.load import load_schema
from ytrag_core.schema.model import AttributeType, EntityType, GraphSchema, RelationType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray


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


def test_the_name_of_an_attribute_is_no_type_of_an_entity() -> None:
    schema = load_schema("general")
    extraction = Extraction("t", (EntityMention("Salt Tower", "birth date"), EntityMention("Stell", "mason")))
    assert [mention.type for mention in bounded(extraction, schema, "propose").entities] == ["", "mason"]
    assert [one.name for one in proposals_of(TOWER, extraction, (), schema)] == ["mason"]


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
