"""Replies that are read while they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from tests.chat_endpoint import Reply, chat, endpoint, failure, streamed
from tests.clocks import PatientClock
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm import openai_model
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.openai_model import OpenAIModel
from ytrag_core.llm.replies import Gathered

if TYPE_CHECKING:
    from collections.abc import Generator

KEY = "sk-very-secret-key"
MESSAGES = [Message("system", "Be brief."), Message("user", "谁？")]


def model_at(base_url: str, timeout: float = 60.0) -> OpenAIModel:
    settings = LLMSettings(base_url=base_url, model="small-1", api_key=SecretStr(KEY), timeout=timeout)
    return OpenAIModel(settings, limits=RateLimits(clock=PatientClock()))


def read(stream: Generator[str, None, Completion]) -> tuple[list[str], Completion]:
    pieces = []
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as stop:
            return pieces, stop.value


def test_pieces_come_as_they_are_written() -> None:
    with endpoint(streamed("周", None, "", "岚 [1]")) as served:
        pieces, whole = read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))
    assert pieces == ["周", "岚 [1]"]
    assert whole == Completion("周岚 [1]", 120, 8, "stop")
    assert served.requests[0]["stream"] is True
    assert served.requests[0]["stream_options"] == {"include_usage": True}


def test_a_piece_is_there_before_the_next_is_written() -> None:
    with endpoint(streamed("first", stalled=True)) as served:
        stream = model_at(served.base_url).stream(MESSAGES, max_tokens=64)
        assert next(stream) == "first"
        stream.close()


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        (streamed("a", "b", usage=None), Completion("ab", 0, 0, "stop")),
        (streamed("a", usage="many"), Completion("a", 0, 0, "stop")),
        (streamed("a", "b", done=False), Completion("ab", 120, 8, "stop")),
        (streamed("a", finish_reason=None), Completion("a", 120, 8, "")),
        (streamed("a", finish_reason="length"), Completion("a", 120, 8, "length")),
        (chat("not streamed"), Completion("not streamed", 120, 8, "stop")),
        (
            Reply(
                "",
                pieces=(
                    b": hello\r\n\r\nda",
                    b'ta:{"choices":[{"delta":{"content":"a"}}]}\r',
                    b"\ndata:[DONE]",
                ),
            ),
            Completion("a"),
        ),
        (streamed([{"type": "text", "text": "part"}]), Completion("part", 120, 8, "stop")),
    ],
)
def test_dialects_of_streams(reply: Reply, wanted: Completion) -> None:
    with endpoint(reply) as served:
        pieces, whole = read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))
    assert whole == wanted
    assert "".join(pieces) == whole.text


def test_a_body_of_single_bytes_is_read_as_what_it_is() -> None:
    body = b"".join(streamed("fog", " clock").pieces)
    gathered = Gathered()
    assert "".join(gathered.read(body[at : at + 1] for at in range(len(body)))) == "fog clock"
    whole = chat("fog clock").body.encode()
    assert "".join(Gathered().read(whole[at : at + 1] for at in range(len(whole)))) == "fog clock"


def test_characters_and_events_cut_anywhere_come_whole() -> None:
    body = b"".join(streamed("周岚", "修了", "雾钟。").pieces)
    for size in (1, 2, 3, 7):
        pieces = tuple(body[at : at + size] for at in range(0, len(body), size))
        with endpoint(Reply("", content_type="text/event-stream", pieces=pieces)) as served:
            assert read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))[1].text == "周岚修了雾钟。"


def test_silence_in_the_middle_of_a_stream_ends_it() -> None:
    with endpoint(streamed("The fog", stalled=True)) as served:
        stream = model_at(served.base_url, timeout=1.0).stream(MESSAGES, max_tokens=64)
        assert next(stream) == "The fog"
        n_asked = len(served.requests)
        with pytest.raises(LLMError, match=r"silent for 1 s in the middle of its reply"):
            next(stream)
        assert len(served.requests) == n_asked


def test_a_connection_lost_in_the_middle_ends_it() -> None:
    with endpoint(streamed("The fog", lost=True)) as served:
        stream = model_at(served.base_url).stream(MESSAGES, max_tokens=64)
        assert next(stream) == "The fog"
        with pytest.raises(LLMError, match="lost the connection in the middle of its reply"):
            next(stream)


def test_a_stream_that_just_stops_is_no_reply() -> None:
    reply = streamed("The fog", finish_reason=None, usage=None, done=False)
    with endpoint(reply) as served, pytest.raises(LLMError, match="broke off in the middle of its reply"):
        read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))


def test_silence_before_the_first_piece_is_tried_again() -> None:
    with endpoint(streamed(None, stalled=True), failure(503), streamed("at last")) as served:
        pieces, _ = read(model_at(served.base_url, timeout=1.0).stream(MESSAGES, max_tokens=64))
    assert pieces == ["at last"]
    assert len(served.requests) >= 3  # a busy machine may be silent for a second, too


def test_an_error_told_in_the_stream() -> None:
    event = b'data: {"error": {"message": "overloaded ' + KEY.encode() + b'"}}\n\n'
    reply = Reply("", content_type="text/event-stream", pieces=(event,))
    with endpoint(reply) as served, pytest.raises(LLMError, match="overloaded") as caught:
        read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))
    assert KEY not in str(caught.value)


def test_an_empty_stream_is_an_empty_reply() -> None:
    with endpoint(streamed()) as served, pytest.raises(ReplyError, match="empty text") as caught:
        read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))
    assert (caught.value.prompt_tokens, caught.value.completion_tokens) == (120, 8)


def test_usage_that_an_endpoint_will_not_stream_is_not_asked_for_again() -> None:
    refusal = failure(400, "Unknown parameter: stream_options")
    with endpoint(refusal, streamed("a", usage=None)) as served:
        model = model_at(served.base_url)
        for _ in range(2):
            assert read(model.stream(MESSAGES, max_tokens=64))[0] == ["a"]
    assert ["stream_options" in request for request in served.requests] == [True, False, False]


def test_events_for_who_did_not_ask_for_them_are_read_too() -> None:
    with endpoint(streamed("a", "b")) as served:
        assert model_at(served.base_url).complete(MESSAGES, max_tokens=64).text == "ab"


def test_a_stream_without_end_is_cut() -> None:
    body = "".join(piece.decode() for piece in streamed(*["again and " * 50] * 60, usage=None).pieces)
    with endpoint(Reply(body, content_type="text/event-stream")) as served:
        pieces, whole = read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))
    assert whole.finish_reason == "length"
    assert 10_000 < len(whole.text) < 15_000
    assert "".join(pieces) == whole.text


def test_a_reply_that_trickles_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_model, "_PATIENCE", 0.1)
    piece = streamed("a").pieces[0]
    slow = Reply("", content_type="text/event-stream", pieces=(piece,) * 500, pause=0.05)
    with endpoint(slow) as served, pytest.raises(LLMError, match=r"took more than 0\.5 s for one reply"):
        read(model_at(served.base_url, timeout=5.0).stream(MESSAGES, max_tokens=64))


def test_events_that_say_nothing_are_passed_over() -> None:
    sound = streamed("a").pieces
    idle = (b'data: {"type": "ping"}\n\n', b'data: {"choices": null, "usage": null}\n\n', b"event: x\n\n")
    with endpoint(Reply("", content_type="text/event-stream", pieces=(*idle, *sound))) as served:
        assert read(model_at(served.base_url).stream(MESSAGES, max_tokens=64))[1].text == "a"


@pytest.mark.parametrize("stream", [True, False])
def test_an_error_with_a_passing_status_inside_is_tried_again(stream: bool) -> None:
    body = '{"error": {"message": "overloaded", "code": 529}}'
    busy = Reply("", content_type="text/event-stream", pieces=(f"data: {body}\n\n".encode(),))
    with endpoint(busy if stream else Reply(body), streamed("ok") if stream else chat("ok")) as served:
        model = model_at(served.base_url)
        if stream:
            assert read(model.stream(MESSAGES, max_tokens=64))[0] == ["ok"]
        else:
            assert model.complete(MESSAGES, max_tokens=64).text == "ok"


def test_a_refusal_in_words_is_a_reply() -> None:
    body = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    with endpoint(chat("", **body)) as served:
        assert model_at(served.base_url).complete(MESSAGES, max_tokens=64).text == "I cannot."
