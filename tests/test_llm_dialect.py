"""Endpoints that refuse what others want: put another way, and remembered."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat_endpoint import Endpoint, Reply, answering, chat, endpoint, failure
from tests.clocks import PatientClock
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.chat import Message
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.openai_model import OpenAIModel

MESSAGES = [Message("system", "Be brief."), Message("user", "Who?")]
OPEN = {"type": "object", "properties": {"a": {"type": "string"}}}
CLOSED = {**OPEN, "required": ["a"], "additionalProperties": False}
ANSWER = '{"a": "Ada"}'


def model_at(served: Endpoint, **fields: Any) -> OpenAIModel:
    settings = LLMSettings(base_url=served.base_url, model="small-1", **fields)
    return OpenAIModel(settings, limits=RateLimits(clock=PatientClock()))


def forms(served: Endpoint) -> list[str]:
    """Return how each request wanted its reply to be held to the schema."""
    told = []
    for request in served.requests:
        form = request.get("response_format", {"type": "none"})
        strict = form.get("json_schema", {}).get("strict")
        told.append("strict" if strict else form["type"])
    return told


def test_a_schema_is_sent_strictly_where_it_can_be() -> None:
    with endpoint(chat(ANSWER)) as served:
        model = model_at(served)
        for schema in (OPEN, CLOSED, None):
            assert model.complete(MESSAGES, max_tokens=9, schema=schema).text == ANSWER
    assert forms(served) == ["json_schema", "strict", "none"]
    assert served.requests[1]["response_format"]["json_schema"]["schema"] == CLOSED


def understands(*known: str, complaint: str, status: int = 400) -> Any:
    """Return an endpoint's mind: it takes only these forms, and complains about others."""

    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        form = request.get("response_format", {"type": "none"})["type"]
        return chat(ANSWER) if form in known else failure(status, complaint)

    return answer


@pytest.mark.parametrize(
    ("complaint", "status"),
    [
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", 400),
        ("This response_format type is unavailable now", 400),
        ("This model does not support response format `json_schema`", 400),
        ("body.response_format: Extra inputs are not permitted", 422),
        ("请求参数非法", 400),
        ("No endpoints found that can handle response_format", 404),
        ("response_format not implemented", 501),
    ],
)
def test_what_is_refused_is_asked_for_less_and_remembered(complaint: str, status: int) -> None:
    mind = understands("none", complaint=complaint, status=status)
    with answering(mind) as served:
        model = model_at(served)
        assert model.complete(MESSAGES, max_tokens=9, schema=OPEN).text == ANSWER
        assert forms(served) == ["json_schema", "json_object", "none"]
        assert model.complete(MESSAGES, max_tokens=9, schema=OPEN).text == ANSWER
        assert forms(served)[3:] == ["none"]


def test_any_json_is_better_than_none() -> None:
    complaint = "Invalid parameter: 'response_format' of type 'json_schema' is not supported"
    with answering(understands("json_object", complaint=complaint)) as served:
        model = model_at(served)
        for schema in (CLOSED, OPEN, CLOSED):
            model.complete(MESSAGES, max_tokens=9, schema=schema)
    assert forms(served) == ["strict", "json_schema", "json_object", "json_object", "json_object"]


def test_a_schema_that_is_too_much_does_not_cost_the_others_theirs() -> None:
    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        schema = request.get("response_format", {}).get("json_schema", {}).get("schema", {})
        return failure(400, "failed to parse grammar") if "$ref" in schema else chat(ANSWER)

    with answering(answer) as served:
        model = model_at(served)
        for schema in ({"$ref": "#"}, OPEN, {"$ref": "#"}):
            model.complete(MESSAGES, max_tokens=9, schema=schema)
    assert forms(served) == ["strict", "json_schema", "json_object", "json_schema", "json_object"]


def test_after_three_schemas_no_more_are_tried() -> None:
    with answering(understands("json_object", complaint="cannot compile this schema")) as served:
        model = model_at(served)
        for n in range(6):
            model.complete(MESSAGES, max_tokens=9, schema={**OPEN, "title": str(n)})
    assert forms(served) == ["json_schema", "json_object"] * 3 + ["json_object"] * 3


def test_a_refusal_for_another_reason_is_told_and_not_learnt() -> None:
    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        return failure(400, "no model loaded") if n_asked <= 3 else chat(ANSWER)

    with answering(answer) as served:
        model = model_at(served)
        with pytest.raises(LLMError, match="no model loaded"):
            model.complete(MESSAGES, max_tokens=9, schema=OPEN)
        model.complete(MESSAGES, max_tokens=9, schema=OPEN)
    assert forms(served) == ["json_schema", "json_object", "none", "json_schema"]


def test_a_prompt_that_is_too_long_is_not_asked_again() -> None:
    complaint = "This model's maximum context length is 4096 tokens. Please reduce the length."
    with endpoint(failure(400, complaint)) as served, pytest.raises(LLMError, match="maximum context"):
        model_at(served).complete(MESSAGES, max_tokens=9, schema=OPEN)
    assert len(served.requests) == 1


@pytest.mark.parametrize(
    ("complaint", "status"),
    [
        ("System role not supported", 400),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", 400),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", 400),
        ("Conversation roles must alternate user/assistant/user/assistant/...", 400),
        ("system role not supported", 500),
    ],
)
def test_no_system_prompt(complaint: str, status: int) -> None:
    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        roles = [message["role"] for message in request["messages"]]
        return failure(status, complaint) if "system" in roles else chat("ok")

    turns = [*MESSAGES, Message("assistant", "Ada."), Message("user", "And?"), Message("user", "Where?")]
    with answering(answer) as served:
        model = model_at(served)
        for _ in range(2):
            assert model.complete(turns, max_tokens=9).text == "ok"
    assert len(served.requests) == 3
    assert served.requests[-1]["messages"] == [
        {"role": "user", "content": "Be brief.\n\nWho?"},
        {"role": "assistant", "content": "Ada."},
        {"role": "user", "content": "And?\n\nWhere?"},
    ]


def test_everything_refused_at_once_is_learnt_once() -> None:
    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        for known, complaint in (
            ("max_tokens", "Use 'max_completion_tokens' instead of 'max_tokens'."),
            ("temperature", "'temperature' does not support 0"),
            ("response_format", "Unknown parameter: 'response_format'"),
        ):
            if known in request:
                return failure(400, complaint)
        if request["messages"][0]["role"] == "system":
            return failure(400, "System role not supported")
        return chat("ok")

    with answering(answer) as served:
        model = model_at(served)
        model.complete(MESSAGES, max_tokens=9, schema=OPEN)
        n_asked = len(served.requests)
        model.complete(MESSAGES, max_tokens=9, schema=OPEN)
    assert n_asked == 6
    assert len(served.requests) == 7


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_that_is_kept_apart_is_no_answer(name: str) -> None:
    message = {"role": "assistant", "content": "", name: '{"a": "hm"}'}
    body = {"choices": [{"message": message, "finish_reason": "length"}]}
    with endpoint(chat("", **body)) as served:
        model = model_at(served)
        with pytest.raises(ReplyError, match=r"spent its whole reply on reasoning.*length"):
            model.complete(MESSAGES, max_tokens=9)
        with pytest.raises(ReplyError, match="reasoning"):
            model.complete(MESSAGES, max_tokens=9, schema=OPEN)


def test_json_that_was_put_down_as_reasoning_is_found() -> None:
    with endpoint(chat(None, reasoning_content=ANSWER), chat("kept", reasoning_content="hm")) as served:
        model = model_at(served)
        assert model.complete(MESSAGES, max_tokens=9, schema=OPEN).text == ANSWER
        assert model.complete(MESSAGES, max_tokens=9, schema=OPEN).text == "kept"
