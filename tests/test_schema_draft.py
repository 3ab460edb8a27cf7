"""A schema is drafted from documents: without a language model, and with one whose replies are poor."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from tests.bases import write_lines
from ytrag_core.errors import DocumentError, LLMError
from ytrag_core.llm.chat import Completion
from ytrag_core.llm.stages import StageModels
from ytrag_core.pipeline.draft import induce_schema
from ytrag_core.pipeline.draft_offline import stated_class
from ytrag_core.pipeline.draft_sample import read_sample
from ytrag_core.pipeline.report import no_progress
from ytrag_core.schema.load import parse_schema
from ytrag_core.schema_rendering import schema_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.llm.chat import Message

SHIPS = [
    f"{name} is a lighthouse in Norway. {name} was designed by {architect}. It was lit in {year}."
    for name, architect, year in (
        ("Kjeungskjær Light", "Ole Berg", 1880),
        ("Ryvingen Light", "Carl Vik", 1867),
        ("Lindesnes Light", "Ole Berg", 1656),
        ("Oksøy Light", "Nils Dahl", 1832),
        ("Torungen Light", "Carl Vik", 1844),
    )
]


class Scripted:
    """A model whose replies are written down; what it was sent is kept.

    Calls come side by side, in no order: a reply that belongs to one text is written down under words of it,
    all others are given one after the other, the last one for ever.
    """

    def __init__(self, *replies: object, to: Mapping[str, object] | None = None) -> None:
        self.replies = [_written(reply) for reply in replies]
        self.to = {words: _written(reply) for words, reply in (to or {}).items()}
        self.sent: list[str] = []
        self.finish_reason = "stop"
        self._mutex = threading.Lock()

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        assert schema is not None
        text = "\n".join(message.content for message in messages)
        with self._mutex:
            self.sent.append(text)
            row = min(len(self.sent), len(self.replies)) - 1
        meant = [reply for words, reply in self.to.items() if words in text]
        return Completion(meant[0] if meant else self.replies[row], 100, 10, finish_reason=self.finish_reason)


def _written(reply: object) -> str:
    return reply if isinstance(reply, str) else json.dumps(reply)


@pytest.fixture
def ships(tmp_path: Path) -> Path:
    return write_lines(
        tmp_path / "ships.jsonl",
        [{"id": f"s{row}", "title": text.split(" is")[0], "text": text} for row, text in enumerate(SHIPS)],
    )


@pytest.mark.parametrize(
    ("sentence", "noun"),
    [
        ("Apollo 11 was the American spaceflight that landed first.", "spaceflight"),
        ("12 Monkeys is a 1995 American science fiction film directed by Terry Gilliam.", "film"),
        ("Alta is an unincorporated community in Fayette County.", "community"),
        ("It was one of the largest harbours of its day.", "harbours"),
        ("He was a member of the council.", ""),
        ("The end was near.", ""),
        ("少林寺是一座位于河南的佛教寺院。", "寺院"),
        ("他是我见过的人。", ""),
        ("大家都去了。", ""),
    ],
)
def test_sentences_say_what_their_subject_is(sentence: str, noun: str) -> None:
    is_chinese = sentence[0] > "\u3000"
    assert stated_class(sentence, is_chinese) == noun


def test_a_draft_without_a_model_names_what_the_texts_show(ships: Path, encoder: Encoder) -> None:
    report = induce_schema([ships], encoder, n_passages=50)
    schema = report.schema
    assert (report.n_documents, report.n_passages, report.extractor) == (5, 5, "offline")
    lighthouse = schema.entity_type("lighthouse")
    assert lighthouse is not None
    assert len(lighthouse.examples) == 5
    designed = schema.relation_type("was designed by")
    assert designed is not None
    assert designed.name == "designed by"
    assert designed.head == ("lighthouse",)
    located = schema.relation_type("located in")
    assert located is not None
    assert located.description, "what the general schema knows keeps its description"
    support = {each.name: each.count for each in report.draft.support}
    assert support["lighthouse"] == 5
    assert parse_schema(schema_text(schema), name="x", where="x") == schema
    assert json.dumps(report.to_json())


def test_a_draft_of_chinese_texts_is_chinese(tmp_path: Path, encoder: Encoder) -> None:
    texts = [
        f"{name}是中国的一座寺院。王{i}在北京创办了{name}。"
        for i, name in enumerate(("白马寺", "灵隐寺", "寒山寺"))
    ]
    file = write_lines(tmp_path / "t.jsonl", [{"id": str(i), "text": text} for i, text in enumerate(texts)])
    schema = induce_schema([file], encoder).schema
    assert schema.language == "zh"
    assert "审阅" in schema.description
    assert schema.entity_types


def test_the_same_documents_give_the_same_draft(ships: Path, encoder: Encoder) -> None:
    drafts = [induce_schema([ships], encoder, n_passages=3).to_json() for _ in range(2)]
    assert drafts[0] == drafts[1]
    assert drafts[0]["passages"] == 3


def test_a_sample_takes_from_every_document_first(tmp_path: Path, encoder: Encoder) -> None:
    long = "\n\n".join(f"Sentence {row} tells of harbour number {row}. " * 12 for row in range(40))
    for name, text in (("long", long), ("short", "A short note."), ("other", "Another note.")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")
    sample = read_sample([tmp_path], encoder.tokenizer, 4, 100, no_progress)
    owners = [chunk.document_id.rpartition("/")[2] for chunk in sample.chunks]
    assert sorted(owners) == ["long.txt", "long.txt", "other.txt", "short.txt"]


def test_nothing_to_read_is_an_error(tmp_path: Path, encoder: Encoder) -> None:
    (tmp_path / "empty.txt").write_text("", encoding="utf-8")
    with pytest.raises(DocumentError, match="no text was found"):
        induce_schema([tmp_path / "empty.txt"], encoder)


def test_a_draft_by_a_model_merges_its_replies(tmp_path: Path, encoder: Encoder) -> None:
    file = write_lines(
        tmp_path / "t.jsonl", [{"id": str(row), "text": f"{SHIPS[row % 5]} {row}."} for row in range(7)]
    )
    designed = {"name": "designed by", "description": "Who drew it.", "head": ["lighthouse"]}
    one = {
        "entity_types": [
            {"name": "lighthouse", "description": "A tower with a light.", "examples": ["Oksøy"]}
        ],
        "relation_types": [designed | {"tail": ["architect"]}],
        "attribute_types": [{"name": "year_lit", "description": "When.", "of": ["lighthouse"]}],
    }
    two = {"entity_types": [{"name": "Lighthouse"}, {"name": "architect"}]}
    merged = {
        "entity_types": [{"name": "lighthouse"}, {"name": "architect", "description": "Who designs."}],
        "relation_types": [designed | {"tail": ["architect", "unheard of"]}],
        "attribute_types": [{"name": "year lit", "description": "When.", "of": ["lighthouse"]}],
    }
    model = Scripted(merged, to={"[6]": one, "[1]": two})
    report = induce_schema([file], encoder, models=StageModels(model))
    assert len(model.sent) == 3
    assert "designed by" in model.sent[2]
    assert "lighthouse x2" in model.sent[2]
    lighthouse = report.schema.entity_type("lighthouse")
    assert lighthouse is not None
    assert (lighthouse.description, lighthouse.examples) == ("A tower with a light.", ("Oksøy",))
    (relation,) = report.schema.relation_types
    assert (relation.head, relation.tail) == (("lighthouse",), ("architect",)), "unknown ends are left out"
    assert report.usage.llm_calls == 3
    assert report.extractor == "llm"


def test_poor_replies_cost_their_passages_only(tmp_path: Path, encoder: Encoder) -> None:
    file = write_lines(
        tmp_path / "t.jsonl", [{"id": str(row), "text": f"{SHIPS[row % 5]} {row}."} for row in range(3)]
    )
    good = {"entity_types": [{"name": "lighthouse"}], "relation_types": [], "attribute_types": []}
    report = induce_schema([file], encoder, models=StageModels(Scripted("I cannot.", good)))
    assert [kind.name for kind in report.schema.entity_types] == ["lighthouse"]
    with pytest.raises(LLMError, match="try another model"):
        induce_schema([file], encoder, models=StageModels(Scripted("I cannot.")))


def test_a_merge_that_fails_leaves_what_was_proposed(tmp_path: Path, encoder: Encoder) -> None:
    file = write_lines(
        tmp_path / "t.jsonl", [{"id": str(row), "text": f"{SHIPS[row % 5]} {row}."} for row in range(7)]
    )
    good = {"entity_types": [{"name": "lighthouse"}], "relation_types": [], "attribute_types": []}
    report = induce_schema([file], encoder, models=StageModels(Scripted(good, good, "no")))
    assert [kind.name for kind in report.schema.entity_types] == ["lighthouse"]
    assert [problem.source for problem in report.problems] == ["the merged schema"]


def test_what_a_small_model_makes_up_is_left_out(tmp_path: Path, encoder: Encoder) -> None:
    file = write_lines(
        tmp_path / "t.jsonl", [{"id": str(row), "text": f"{SHIPS[row % 5]} {row}."} for row in range(3)]
    )
    name = SHIPS[0].split()[0]
    every = ["ship", "port", "builder", "storm", "pilot"]
    reply = {
        "entity_types": [
            {"name": "ship", "examples": [name, "t.jsonl"]},
            {"name": "port"},
            {"name": "builder", "examples": ["Ada Marrick"]},
            {"name": "storm"},
            {"name": "pilot"},
        ],
        "relation_types": [{"name": "calls at", "head": every, "tail": ["port"]}],
        "attribute_types": [],
    }
    report = induce_schema([file], encoder, models=StageModels(Scripted(reply)))
    assert {kind.name: kind.examples for kind in report.schema.entity_types} == {
        "ship": (name,),
        "port": (),
        "storm": (),
        "pilot": (),
    }
    (relation,) = report.schema.relation_types
    assert (relation.head, relation.tail) == ((), ("port",)), "all of many types are any type"


def test_a_reply_that_was_cut_counts_as_far_as_it_goes(tmp_path: Path, encoder: Encoder) -> None:
    file = write_lines(tmp_path / "t.jsonl", [{"id": "1", "text": f"{SHIPS[0]}."}])
    model = Scripted('{"entity_types": [{"name": "ship", "description": "A vessel."}, {"name": "po')
    model.finish_reason = "length"
    report = induce_schema([file], encoder, models=StageModels(model))
    assert len(model.sent) == 1
    assert [kind.name for kind in report.schema.entity_types][:1] == ["ship"]
