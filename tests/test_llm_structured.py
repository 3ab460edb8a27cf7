"""Structured replies: near misses are brought into form, wrong ones repaired once, the rest salvaged."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasChoices, BaseModel, Field

from tests.chat_endpoint import chat, endpoint, failure
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.fitting import fit
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.stages import StageModels
from ytrag_core.llm.structured import ask_for, read_reply, response_schema
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Colour(Enum):
    RED = "red"
    BLUE = "deep blue"


class Entity(BaseModel):
    name: str
    kind: Literal["person", "place", "thing"] = "thing"
    notes: list[str] = Field(default_factory=list)


class Extraction(BaseModel):
    entities: list[Entity]
    triples: list[tuple[str, str, str]] = Field(default_factory=list)


class Step(BaseModel):
    thought: str = ""
    decision: Literal["answer", "query", "refuse"]
    confidence: Annotated[float, Field(ge=0.0, le=1.0)] = 0.5
    cited: list[int] = Field(default_factory=list)
    answer: str | None = None
    final: bool = False


ADA = Entity(name="Ada", kind="person")
USER = [Message("user", "Who was the first programmer?")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"entities": [{"name": "Ada", "kind": "Person"}]}', Extraction(entities=[ADA])),
        # Another shape of the whole
        ('[{"name": "Ada", "kind": "person"}]', Extraction(entities=[ADA])),
        ('{"result": {"entities": [{"name": "Ada", "kind": "person"}]}}', Extraction(entities=[ADA])),
        ('{"Entities": [{"Name": "Ada", "KIND": "person"}]}', Extraction(entities=[ADA])),
        ('[{"entities": [{"name": "Ada", "kind": "person"}]}]', Extraction(entities=[ADA])),
        # A text, an object, JSON in a text, nothing, where a list belongs
        ('{"entities": "Ada"}', Extraction(entities=[Entity(name="Ada")])),
        ('{"entities": ["Ada"]}', Extraction(entities=[Entity(name="Ada")])),
        ('{"entities": {"name": "Ada", "kind": "person"}}', Extraction(entities=[ADA])),
        ('{"entities": {"Ada": {"kind": "person"}}}', Extraction(entities=[ADA])),
        ('{"entities": "[{\\"name\\": \\"Ada\\", \\"kind\\": \\"person\\"}]"}', Extraction(entities=[ADA])),
        ('{"entities": [], "triples": null}', Extraction(entities=[])),
        ('{"entities": [null, {"name": "Ada", "kind": "person"}]}', Extraction(entities=[ADA])),
        # Triples as objects
        (
            '{"entities": [], "triples": [{"head": "a", "relation": "r", "tail": "b"}, ["c", "s", 5]]}',
            Extraction(entities=[], triples=[("a", "r", "b"), ("c", "s", "5")]),
        ),
        # Nested values where a text belongs
        (
            '{"entities": [{"name": {"text": "Ada", "language": "en"}, "kind": ["person"]}]}',
            Extraction(entities=[ADA]),
        ),
        (
            '{"entities": [{"name": 1815, "notes": "- poet\\n- writer；旅人"}]}',
            Extraction(entities=[Entity(name="1815", notes=["poet", "writer", "旅人"])]),
        ),
        ('{"entities": [{"name": "Ada", "kind": null}]}', Extraction(entities=[Entity(name="Ada")])),
    ],
)
def test_near_misses_are_brought_into_form(text: str, wanted: Extraction) -> None:
    assert read_reply(text, Extraction) == (wanted, ())


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({"decision": "ANSWER"}, Step(decision="answer")),
        ({"decision": ["query"]}, Step(decision="query")),
        ({"decision": "answer", "confidence": "0.8"}, Step(decision="answer", confidence=0.8)),
        ({"decision": "answer", "confidence": "80%"}, Step(decision="answer", confidence=0.8)),
        ({"decision": "answer", "confidence": "0,8"}, Step(decision="answer", confidence=0.8)),
        ({"decision": "answer", "cited": "[1, 2]"}, Step(decision="answer", cited=[1, 2])),
        ({"decision": "answer", "cited": 3}, Step(decision="answer", cited=[3])),
        ({"decision": "answer", "cited": ["[1]", "2"]}, Step(decision="answer", cited=[1, 2])),
        ({"decision": "answer", "final": "yes"}, Step(decision="answer", final=True)),
        ({"decision": "answer", "final": "否"}, Step(decision="answer", final=False)),
        ({"decision": "answer", "answer": None}, Step(decision="answer")),
        ({"decision": "answer", "answer": ["Ada", "Bob"]}, Step(decision="answer", answer="Ada, Bob")),
        ({"decision": "answer", "answer": {"text": "Ada"}}, Step(decision="answer", answer="Ada")),
        ({"decision": "answer", "answer": 1815}, Step(decision="answer", answer="1815")),
        ({"decision": "answer", "Thought": True}, Step(decision="answer", thought="true")),
    ],
)
def test_single_values(fields: dict[str, Any], wanted: Step) -> None:
    assert Step.model_validate(fit(fields, Step)) == wanted


@pytest.mark.parametrize(
    ("value", "wanted", "fitted"),
    [
        ("Deep-Blue", Colour, "deep blue"),
        ("x", Colour, "x"),
        ([["a", 1]], dict[str, int], {"a": 1}),
        ([{"name": "a", "value": "1"}], dict[str, int], {"a": 1}),
        ([{"a": "1"}, {"b": "2"}], dict[str, int], {"a": 1, "b": 2}),
        (None, dict[str, str], {}),
        ('{"a": "1"}', dict[str, int], {"a": 1}),
        ("1 234", int, "1 234"),
        ("3.5", int, 3.5),
        (7.0, int, 7.0),
        ("many", float, "many"),
        ({"a": 1, "b": 2}, str, {"a": 1, "b": 2}),
        ({"x": "only text", "n": 1}, str, "only text"),
        ([[1]], str, "1"),
        ([{"a": 1}], str, [{"a": 1}]),
        ("1,234", int, 1234),
        ("0,875", float, 0.875),
        ("-2.5 degrees", float, -2.5),
        ("1815-12-10", int, "1815-12-10"),
        ("[not json", list[str], ["[not json"]),
        ("[see] Ada", list[str], ["[see] Ada"]),
        ("1. Ada\n2) Bob\n• Eve", list[str], ["Ada", "Bob", "Eve"]),
        ("Paris, Texas", list[str], ["Paris, Texas"]),
        ({"Ada": True, "Bob": False}, list[str], ["Ada", "Bob"]),
        ({"a": "x", "b": "y"}, list[str], ["x", "y"]),
        ({"items": [{"name": "Ada"}]}, list[Entity], [{"name": "Ada"}]),
        ("a", set[str], ["a"]),
        (["a", "b"], tuple[str, ...], ["a", "b"]),
        (["a"], tuple[str, str], ["a"]),
        (5, Any, 5),
        (None, str, None),
        ("5", int | str, "5"),
        (["5"], list[int] | None, [5]),
    ],
)
def test_other_types(value: Any, wanted: Any, fitted: Any) -> None:
    assert fit(value, wanted) == fitted


def test_a_list_under_a_foreign_name_is_not_taken_for_another() -> None:
    class Hints(BaseModel):
        cited: list[int] = Field(default_factory=list)

    assert fit({"years": [1815]}, Hints) == {"years": [1815]}
    assert fit([1, 2], Hints) == {"cited": [1, 2]}


def test_fields_go_by_their_aliases() -> None:
    class Named(BaseModel):
        chunk_ids: list[str] = Field(validation_alias=AliasChoices("chunkIds", "sources"))
        said: str = Field(alias="saidBy")

    fitted = fit({"Sources": "a", "said-by": 1}, Named)
    assert Named.model_validate(fitted).chunk_ids == ["a"]
    assert Named.model_validate(fitted).said == "1"


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["entities", "name", "kind", "triples", "x"]), inner, max_size=3
            )
        ),
        max_leaves=12,
    )
)
def test_fitting_never_fails(value: Any) -> None:
    json.dumps(fit(value, Extraction))
    json.dumps(fit(value, Step))


@given(st.lists(st.builds(Entity, name=st.text(), kind=st.sampled_from(["person", "place"]))))
def test_what_is_right_stays_as_it_is(entities: list[Entity]) -> None:
    value = Extraction(entities=entities, triples=[("a", "b", "c")]).model_dump(mode="json")
    assert fit(value, Extraction) == value


def test_the_rest_is_salvaged() -> None:
    entities = '[{"name": "Ada"}, {"kind": "person"}, 7, {"name": "Bob", "kind": "god"}]'
    text = f'{{"entities": {entities}, "triples": [["a"]]}}'
    value, complaints = read_reply(text, Extraction)
    assert value is None
    assert any("entities.1.name: Field required" in complaint for complaint in complaints)
    value, _ = read_reply(text, Extraction, salvage=True)
    assert value == Extraction(entities=[Entity(name="Ada")])
    nothing = '{"entities": 5.5, "triples": {}}'
    assert read_reply(nothing, Extraction, salvage=True)[0] == Extraction(entities=[])
    assert read_reply("nothing", Extraction, salvage=True)[0] is None
    assert read_reply('{"decision": "perhaps"}', Step, salvage=True)[0] is None


def test_complaints_are_few_and_short() -> None:
    text = '{"entities": [' + ", ".join(['{"kind": "x"}'] * 50) + "]}"
    _, complaints = read_reply(text, Extraction)
    assert len(complaints) == 8
    assert complaints[-1] == "and 93 more"


def test_the_schema_is_closed_all_the_way_down() -> None:
    class Holder(BaseModel):
        title: str = "a field of that name"
        default: int | None = 3
        inner: Extraction = Extraction(entities=[])

    schema = response_schema(Holder)
    assert set(schema["properties"]) == set(schema["required"]) == {"title", "default", "inner"}
    assert schema["additionalProperties"] is False
    for definition in schema["$defs"].values():
        assert definition["additionalProperties"] is False
        assert definition["required"] == list(definition["properties"])
    text = str(schema)
    assert "'default':" not in text.replace("'default': {'anyOf'", "")


@dataclass
class Scripted:
    """Says what it is told to, for control flow."""

    script: list[Completion | LLMError]
    asked: list[list[Message]] = field(default_factory=list)
    schemas: list[Mapping[str, Any] | None] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        self.asked.append(list(messages))
        self.schemas.append(schema)
        said = self.script[len(self.asked) - 1]
        if isinstance(said, LLMError):
            raise said
        return said


def said(text: str, finish_reason: str = "stop") -> Completion:
    return Completion(text, 100, 10, finish_reason)


GOOD = said('{"decision": "answer", "answer": "Ada"}')


def test_a_good_reply_costs_one_call() -> None:
    llm = Scripted([GOOD])
    found = ask_for(llm, USER, Step, max_tokens=50)
    assert found.value == Step(decision="answer", answer="Ada")
    assert (found.raw, found.usage, found.complaints, found.cut) == (GOOD.text, Usage(1, 100, 10), (), False)
    assert llm.schemas == [response_schema(Step)]


@pytest.mark.parametrize("bad", ["I think it was Ada.", '{"decision": "dunno"}', "[]", "{}"])
def test_a_bad_reply_is_repaired_once_with_the_error_shown(bad: str) -> None:
    llm = Scripted([said(bad), GOOD])
    found = ask_for(llm, USER, Step, max_tokens=50)
    assert found.value == Step(decision="answer", answer="Ada")
    assert found.usage == Usage(2, 200, 20)
    assert found.complaints
    repair = llm.asked[1]
    assert repair[:1] == USER
    assert repair[1] == Message("assistant", bad)
    assert found.complaints[0] in repair[2].content
    assert '"decision"' in repair[2].content
    assert "Reply once more" in repair[2].content


def test_the_repair_is_asked_for_in_the_language_of_the_question() -> None:
    llm = Scripted([said("不知道"), GOOD])
    ask_for(llm, [Message("user", "第一位程序员是谁？")], Step, max_tokens=50)
    assert "请重新给出" in llm.asked[1][2].content


def test_two_bad_replies_are_no_error() -> None:
    llm = Scripted([said("no"), said("still no")])
    found = ask_for(llm, USER, Step, max_tokens=50)
    assert (found.value, found.raw, found.usage.llm_calls) == (None, "still no", 2)
    assert len(found.complaints) == 2
    assert len(llm.asked) == 2


def test_without_repair_there_is_one_call() -> None:
    found = ask_for(Scripted([said("no")]), USER, Step, max_tokens=50, repair=False)
    assert (found.value, found.usage.llm_calls) == (None, 1)


def test_records_of_a_reply_that_stays_wrong_are_salvaged() -> None:
    first = said('{"entities": [{"name": "Ada"}, {"nam": "Bob"}, {"name": "Eve"}]}')
    found = ask_for(Scripted([first, said("sorry")]), USER, Extraction, max_tokens=50)
    assert found.value == Extraction(entities=[Entity(name="Ada"), Entity(name="Eve")])
    assert found.raw == first.text
    assert any("entities.1.name" in complaint for complaint in found.complaints)


def test_a_cut_reply_is_asked_for_again_and_the_fuller_one_is_taken() -> None:
    cut = said('{"entities": [{"name": "Ada"}, {"name": "Eve"}, {"name": "Bo', "length")
    whole = said('{"entities": [{"name": "Ada"}]}')
    found = ask_for(Scripted([cut, whole]), USER, Extraction, max_tokens=50)
    assert found.value == Extraction(entities=[Entity(name="Ada")])
    assert (found.cut, found.complaints) == (False, ("the reply was cut at 50 tokens",))
    shorter = said('{"entities": [{"name": "Ada"}, {"name": "E', "length")
    for second in (shorter, said("Sorry."), LLMError("gone")):
        found = ask_for(Scripted([cut, second]), USER, Extraction, max_tokens=50)
        assert found.value == Extraction(entities=[Entity(name="Ada"), Entity(name="Eve")])
        assert (found.cut, found.raw) == (True, cut.text)
    found = ask_for(Scripted([cut]), USER, Extraction, max_tokens=50, repair=False)
    assert (found.cut, found.usage.llm_calls) == (True, 1)


def test_the_repair_prompt_may_be_the_users(tmp_path: Path) -> None:
    (tmp_path / "repair.en.txt").write_text("Again! {error} {form}", encoding="utf-8")
    llm = Scripted([said("no"), GOOD])
    ask_for(StageModels(llm, prompts=tmp_path).model("reason"), USER, Step, max_tokens=50)
    assert llm.asked[1][2].content.startswith("Again! - the language model was to reply in JSON")


def test_an_empty_reply_is_asked_again_and_paid_for() -> None:
    empty = ReplyError("it answered with an empty text", prompt_tokens=90, completion_tokens=50)
    found = ask_for(Scripted([empty, GOOD]), USER, Step, max_tokens=50)
    assert found.value is not None
    assert found.usage == Usage(2, 190, 60)
    assert found.complaints == ("it answered with an empty text",)
    twice = ask_for(Scripted([empty, empty]), USER, Step, max_tokens=50)
    assert (twice.value, twice.raw) == (None, "")


def test_a_failing_endpoint_is_an_error() -> None:
    with pytest.raises(LLMError, match="cannot be reached"):
        ask_for(Scripted([LLMError("it cannot be reached")]), USER, Step, max_tokens=50)
    with pytest.raises(LLMError, match="gone"):
        ask_for(Scripted([said("no"), LLMError("gone")]), USER, Step, max_tokens=50)


def test_a_repair_prompt_does_not_grow_without_bound() -> None:
    llm = Scripted([said("no " * 50_000), GOOD])
    ask_for(llm, USER, Step, max_tokens=50)
    assert sum(len(message.content) for message in llm.asked[1]) < 15_000


def test_against_an_endpoint_without_schemas() -> None:
    refusal = failure(400, "response_format is not supported")
    with endpoint(refusal, refusal, refusal, chat("Ada, I think"), chat('{"decision": "refuse"}')) as served:
        model = OpenAIModel(LLMSettings(base_url=served.base_url, model="small-1"))
        found = ask_for(model, USER, Step, max_tokens=50)
    assert found.value == Step(decision="refuse")
    assert found.usage == Usage(2, 240, 16)
    assert ["response_format" in request for request in served.requests] == [True, True, True, False, False]
