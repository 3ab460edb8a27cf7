"""Failures that pass: when an endpoint is asked again, how often, and who waits."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from pydantic import SecretStr

from tests.chat_endpoint import Endpoint, Reply, answering, chat, endpoint, failure
from tests.clocks import PatientClock
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError
from ytrag_core.llm.chat import Message
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.openai_model import OpenAIModel

KEY = "sk-very-secret-key"
MESSAGES = [Message("user", "Who?")]
START = 1000.0


def model_at(served: Endpoint, clock: PatientClock, **fields: Any) -> OpenAIModel:
    settings = LLMSettings(base_url=served.base_url, model="small-1", api_key=SecretStr(KEY), **fields)
    return OpenAIModel(settings, limits=RateLimits(clock=clock))


def refusal(status: int = 429, headers: dict[str, str] | None = None) -> Reply:
    return Reply('{"error": {"message": "busy"}}', status, headers=headers or {})


def waited(*replies: Reply, **fields: Any) -> float:
    """Return the seconds that the model paused until it had a reply."""
    clock = PatientClock()
    with endpoint(*replies, chat("ok")) as served:
        assert model_at(served, clock, **fields).complete(MESSAGES, max_tokens=9).text == "ok"
    return clock.now() - START


def test_pauses_grow_and_are_random() -> None:
    three = [refusal(), refusal(503), refusal(500)]
    pauses = {waited(*three) for _ in range(5)}
    assert len(pauses) == 5
    assert all(0.5 + 1.0 + 2.0 <= pause <= 1.0 + 2.0 + 4.0 for pause in pauses)
    assert waited(*[refusal()] * 10, max_retries=10) <= 31.0 + 5 * 30.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "2500", "retry-after": "9"}, 2.5),
        ({"retry-after": format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)}, 0.0),
    ],
)
def test_retry_after_is_honoured(headers: dict[str, str], seconds: float) -> None:
    assert seconds <= waited(refusal(headers=headers)) <= 1.1 * seconds + 1e-6
    assert seconds <= waited(refusal(503, headers)) <= 1.1 * seconds + 1e-6


@pytest.mark.parametrize(
    ("said", "seconds"),
    [
        ("Rate limit reached for small-1. Please try again in 2.5s. Visit /account/billing for more.", 2.5),
        ("Please try again in 250ms.", 0.25),
        ("Please retry after 12 seconds", 12.0),
        ('[{"@type": "RetryInfo", "retryDelay": "34s"}]', 34.0),
    ],
)
def test_a_pause_that_is_asked_for_in_words(said: str, seconds: float) -> None:
    body = json.dumps({"error": {"message": said}})
    assert seconds <= waited(Reply(body, 429)) <= 1.1 * seconds


def test_retry_after_as_a_date() -> None:
    then = format_datetime(datetime.now(UTC) + timedelta(seconds=90), usegmt=True)
    assert 20.0 < waited(refusal(headers={"retry-after": then})) <= 99.0


@pytest.mark.parametrize("value", ["soon", "-3", "nan", "1e9", ""])
def test_nonsense_for_retry_after_is_none(value: str) -> None:
    assert 0.5 <= waited(refusal(headers={"retry-after": value})) <= 1.0


def test_whoever_asks_for_an_hour_is_not_waited_for() -> None:
    clock = PatientClock()
    reply = refusal(headers={"retry-after": "3600"})
    with endpoint(reply) as served, pytest.raises(LLMError, match="try again in 3600 s"):
        model_at(served, clock).complete(MESSAGES, max_tokens=9)
    assert len(served.requests) == 1
    assert clock.now() == START


@pytest.mark.parametrize("said", ["insufficient_quota", "Insufficient Balance", "账户余额不足"])
def test_spent_money_does_not_come_back_by_waiting(said: str) -> None:
    with endpoint(failure(429, said)) as served, pytest.raises(LLMError, match="quota"):
        model_at(served, PatientClock()).complete(MESSAGES, max_tokens=9)
    assert len(served.requests) == 1


def test_a_storm_of_429_ends_with_an_error_without_the_key() -> None:
    message = r"rate limit or quota.*slow down.*4 tries"
    with (
        endpoint(failure(429, f"slow down, {KEY}")) as served,
        pytest.raises(LLMError, match=message) as caught,
    ):
        model_at(served, PatientClock()).complete(MESSAGES, max_tokens=9)
    assert KEY not in str(caught.value)
    assert len(served.requests) == 4


def test_a_storm_holds_everyone_who_shares_the_limits() -> None:
    clock = PatientClock()
    limits = RateLimits(clock=clock)

    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        return refusal(headers={"retry-after": "20"}) if clock.now() < START + 20.0 else chat("ok")

    with answering(answer) as served:
        settings = LLMSettings(base_url=served.base_url, model="small-1")
        models = [OpenAIModel(settings, limits=limits) for _ in range(4)]
        with ThreadPoolExecutor(4) as pool:
            texts = pool.map(lambda model: model.complete(MESSAGES, max_tokens=9).text, models)
            assert list(texts) == ["ok"] * 4
        assert len(served.requests) <= 8
        assert START + 20.0 <= clock.now() <= START + 100.0


def test_tries_are_counted_against_the_limit_and_failed_ones_give_their_tokens_back() -> None:
    clock = PatientClock()
    limits = RateLimits(60.0, 600.0, clock=clock)
    with endpoint(failure(500), failure(500), chat("ok")) as served:
        model = OpenAIModel(LLMSettings(base_url=served.base_url, model="m"), limits=limits)
        for _ in range(12):
            model.complete(MESSAGES, max_tokens=100)
    assert len(served.requests) == 14
    assert (clock.now() - START) / 12 == pytest.approx(12.8, rel=0.1)  # 128 tokens each, 10 a second


def test_a_lost_connection_is_tried_again() -> None:
    lost = Reply("", pieces=(b'{"choices": [',), lost=True)
    assert 0.5 <= waited(lost) <= 1.0


def test_cancelling_ends_the_pause() -> None:
    limits = RateLimits()
    with endpoint(refusal(headers={"retry-after": "100"})) as served:
        model = OpenAIModel(LLMSettings(base_url=served.base_url, model="m"), limits=limits)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(model.complete, MESSAGES, max_tokens=9)
            served.await_requests(1)
            limits.cancel()
            with pytest.raises(LLMError, match="cancelled"):
                asked.result(90)


def test_many_threads_ask_one_model() -> None:
    def answer(n_asked: int, request: dict[str, Any]) -> Reply:
        if "max_tokens" in request:
            return failure(400, "use max_completion_tokens")
        return failure(503) if n_asked % 5 == 0 else chat(request["messages"][0]["content"])

    with answering(answer) as served:
        settings = LLMSettings(base_url=served.base_url, model="m", max_retries=9)
        model = OpenAIModel(settings, limits=RateLimits(clock=PatientClock()))
        with ThreadPoolExecutor(8) as pool:
            asked = [[Message("user", f"question {n}")] for n in range(60)]
            texts = list(pool.map(lambda messages: model.complete(messages, max_tokens=9).text, asked))
    assert texts == [f"question {n}" for n in range(60)]
    assert sum("max_tokens" in request for request in served.requests) <= 8
