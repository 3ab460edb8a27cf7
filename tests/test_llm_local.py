"""A real language model behind a real OpenAI-compatible server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from tests.chat_endpoint import relay
from ytrag_core.llm.chat import Message
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.structured import ask_for

if TYPE_CHECKING:
    from tests.local_model import LocalModel

QUESTION = [Message("system", "You answer briefly."), Message("user", "What is the capital of France?")]


class City(BaseModel):
    """What the model is asked for."""

    name: str
    size: Literal["small", "large"]
    notes: list[str] = []


def test_completes(local_llm: LocalModel) -> None:
    reply = OpenAIModel(local_llm.settings()).complete(QUESTION, max_tokens=24)
    assert reply.text.strip()
    assert reply.prompt_tokens > 10
    assert 0 < reply.completion_tokens <= 24
    assert reply.finish_reason in ("stop", "length")


def test_streams(local_llm: LocalModel) -> None:
    stream = OpenAIModel(local_llm.settings()).stream(QUESTION, max_tokens=24)
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            whole = stop.value
            break
    assert len(pieces) > 1
    assert "".join(pieces) == whole.text
    assert whole.completion_tokens > 0


def test_is_held_to_a_schema(local_llm: LocalModel) -> None:
    with relay(local_llm.base_url) as served:
        settings = local_llm.settings().model_copy(update={"base_url": served.base_url})
        found = ask_for(OpenAIModel(settings), QUESTION, City, max_tokens=200, repair=False)
    assert served.requests[0]["response_format"]["type"] == "json_schema"
    assert isinstance(found.value, City) or found.cut
    assert found.usage.llm_calls == 1


def test_leaves_off_reading_in_the_middle(local_llm: LocalModel) -> None:
    model = OpenAIModel(local_llm.settings())
    stream = model.stream(QUESTION, max_tokens=500)
    assert next(stream)
    stream.close()
    assert model.complete(QUESTION, max_tokens=4).text
