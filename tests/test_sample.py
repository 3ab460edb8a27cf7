"""The built-in sample is coherent: its triples are in its passages and its chains link."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from ytrag_core.evaluation.datasets import read_questions
from ytrag_core.extraction.recorded import read_openie
from ytrag_core.sample import sample_folder
from ytrag_core.schema.load import load_schema

if TYPE_CHECKING:
    from ytrag_core.schema.model import GraphSchema

Row = dict[str, Any]
ALIAS_RELATIONS = {"also known as", "又名"}


def rows(name: str) -> list[Row]:
    lines = (sample_folder() / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


PASSAGES: dict[str, Row] = {row["id"]: row for row in rows("corpus.jsonl")}
RECORDS: dict[str, Row] = {row["passage_id"]: row for row in rows("openie.jsonl")}
QUESTIONS = rows("questions.jsonl")
by_passage = pytest.mark.parametrize("passage_id", PASSAGES)
by_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: str(question["id"]))


def whole_text(passage_id: str) -> str:
    passage = PASSAGES[passage_id]
    return f"{passage['title']}\n{passage['text']}".casefold()


def is_chinese(passage_id: str) -> bool:
    return passage_id.startswith("sample-zh-")


def names_of(answer: str) -> set[str]:
    """The answer and every other name that an alias triple gives it."""
    names = {answer.casefold()}
    for record in RECORDS.values():
        for head, relation, tail in record["triples"]:
            if relation in ALIAS_RELATIONS and {head.casefold(), tail.casefold()} & names:
                names |= {head.casefold(), tail.casefold()}
    return names


def relations_between(passage_id: str, first: str, second: str) -> list[str]:
    pair = {first.casefold(), second.casefold()}
    return [
        relation
        for head, relation, tail in RECORDS[passage_id]["triples"]
        if {head.casefold(), tail.casefold()} == pair
    ]


def parallel_schema(passage_id: str) -> tuple[GraphSchema, dict[str, str]]:
    """The schema of the entity types, and the passage's relation names in its language."""
    general, chinese = load_schema("general"), load_schema("general_zh")
    links = (*general.relation_types, *general.attribute_types)
    local = (*chinese.relation_types, *chinese.attribute_types) if is_chinese(passage_id) else links
    return general, {part.name: link.name for part, link in zip(local, links, strict=True)}


def test_the_files_are_what_the_readers_take() -> None:
    source = read_openie(sample_folder())
    assert source.problems == []
    assert source.n_malformed == source.n_without_extraction == 0
    assert [document.id for document in source.documents] == list(PASSAGES) == list(RECORDS)
    assert len(read_questions(sample_folder() / "questions.jsonl")) == 10


def test_ids_count_up_in_each_language() -> None:
    english = [f"sample-en-{number:02d}" for number in range(1, 43)]
    chinese = [f"sample-zh-{number:02d}" for number in range(1, 16)]
    assert list(PASSAGES) == english + chinese
    titles = [passage["title"] for passage in PASSAGES.values()]
    assert len(set(titles)) == len(titles)


@by_passage
def test_a_passage_is_short_and_in_its_language(passage_id: str) -> None:
    text = PASSAGES[passage_id]["text"]
    n_han = len(re.findall(r"[\u4e00-\u9fff]", text))
    if is_chinese(passage_id):
        assert 90 <= n_han <= 180
    else:
        assert n_han == 0
        assert 50 <= len(text.split()) <= 110


@by_passage
def test_triples_are_stated_in_the_passage(passage_id: str) -> None:
    triples = RECORDS[passage_id]["triples"]
    assert 5 <= len(triples) <= 9
    assert len({tuple(triple) for triple in triples}) == len(triples)
    text = whole_text(passage_id)
    missing = [part for head, _, tail in triples for part in (head, tail) if part.casefold() not in text]
    assert missing == []


@by_passage
def test_triples_fit_the_schema(passage_id: str) -> None:
    record = RECORDS[passage_id]
    schema, names = parallel_schema(passage_id)
    types: dict[str, str] = record["entity_types"]
    assert list(types) == record["entities"]
    assert all(schema.entity_type(kind) for kind in types.values())
    for head, relation, tail in record["triples"]:
        name = names[relation]
        if schema.attribute_type(name):
            assert schema.allows_attribute(types[head], name), (head, relation, tail)
        else:
            assert schema.allows(types[head], name, types[tail]), (head, relation, tail)


@by_passage
def test_entities_are_named_in_the_passage(passage_id: str) -> None:
    text = whole_text(passage_id)
    assert [name for name in RECORDS[passage_id]["entities"] if name.casefold() not in text] == []


def test_a_name_has_one_spelling_and_one_type() -> None:
    seen: dict[str, tuple[str, str]] = {}
    for record in RECORDS.values():
        for name, kind in record["entity_types"].items():
            assert seen.setdefault(name.casefold(), (name, kind)) == (name, kind)


def test_both_languages_meet_in_many_names() -> None:
    english = {
        name.casefold() for id_, row in RECORDS.items() if not is_chinese(id_) for name in row["entities"]
    }
    chinese = {name.casefold() for id_, row in RECORDS.items() if is_chinese(id_) for name in row["entities"]}
    assert len(english & chinese) >= 15


def test_the_questions_are_of_the_promised_kinds() -> None:
    hops = [question["hops"] for question in QUESTIONS]
    assert (hops.count(2), hops.count(3)) == (6, 4)
    n_chinese = sum(bool(re.search(r"[\u4e00-\u9fff]", question["question"])) for question in QUESTIONS)
    assert (len(QUESTIONS), n_chinese) == (10, 3)


@by_question
def test_every_step_is_answered_by_its_passage(question: Row) -> None:
    steps = question["decomposition"]
    assert question["hops"] == len(steps) == len(set(question["supporting_ids"]))
    assert question["supporting_ids"] == [step["supporting_id"] for step in steps]
    for step in steps:
        assert step["answer"].casefold() in whole_text(step["supporting_id"])
    assert steps[-1]["answer"] in question["answers"]


@by_question
def test_the_steps_form_a_chain_in_text_and_triples(question: Row) -> None:
    steps = question["decomposition"]
    for number, (step, following) in enumerate(pairwise(steps), start=1):
        assert f"#{number}" in following["question"]
        assert step["answer"].casefold() in whole_text(following["supporting_id"])
        assert relations_between(following["supporting_id"], step["answer"], following["answer"])


@by_question
def test_no_link_of_the_chain_is_named_in_the_question(question: Row) -> None:
    asked = question["question"].casefold()
    hidden = {name for step in question["decomposition"] for name in names_of(step["answer"])}
    assert [name for name in hidden if name in asked] == []


@by_question
def test_only_the_last_passage_ties_the_last_link_to_the_answer(question: Row) -> None:
    before, last = question["decomposition"][-2:]
    relation = relations_between(last["supporting_id"], before["answer"], last["answer"])[0]
    elsewhere = [
        passage_id
        for passage_id in RECORDS
        if relation in relations_between(passage_id, before["answer"], last["answer"])
    ]
    assert elsewhere == [last["supporting_id"]]
