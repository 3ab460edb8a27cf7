from __future__ import annotations

import json
import socket

import pytest
from pydantic import SecretStr, ValidationError

from tests.chat_endpoint import Endpoint, Reply, chat, endpoint, failure
from ytrag_core.config import LLMSettings
from ytrag_core.errors import LLMError
from ytrag_core.llm.chat import Completion, Message, strip_reasoning
from ytrag_core.llm.openai_model import OpenAIModel

KEY = "sk-very-secret-key"
MESSAGES = [Message("system", "Be brief."), Message("user", "谁？")]


def model_at(base_url: str, *, timeout: float = 60.0, max_retries: int = 2, key: str = KEY) -> OpenAIModel:
    settings = LLMSettings(
        base_url=base_url,
        model="small-1",
        api_key=SecretStr(key),
        timeout=timeout,
        max_retries=max_retries,
    )
    return OpenAIModel(settings)


def ask(served: Endpoint, **options: float) -> Completion:
    model = model_at(served.base_url, **options)  # type: ignore[arg-type]
    return model.complete(MESSAGES, max_tokens=64)


def test_asks_and_reads_a_completion() -> None:
    with endpoint(chat("好的 [1]")) as served:
        assert ask(served) == Completion("好的 [1]", 120, 8, "stop")
    assert served.requests == [
        {
            "path": "/v1/chat/completions",
            "model": "small-1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "谁？"}],
            "temperature": 0.0,
            "max_tokens": 64,
        }
    ]
    assert served.headers[0]["authorization"] == f"Bearer {KEY}"


def test_no_other_key_leaves_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID"):
        monkeypatch.setenv(f"OPENAI_{name}", f"foreign-{name}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with endpoint(chat("ok")) as served:
        model_at(served.base_url, key="").complete(MESSAGES, max_tokens=8)
    assert "foreign" not in json.dumps(served.headers)


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(status: int) -> None:
    with endpoint(failure(status), failure(status), chat("at last")) as served:
        assert ask(served).text == "at last"
    assert len(served.requests) == 3


@pytest.mark.parametrize(
    ("reply", "n_requests", "message"),
    [
        (failure(500, "broken"), 3, r"failed \(HTTP 500: .*broken.*3 tries"),
        (failure(429, "slow down"), 3, "rate limit or quota.*slow down"),
        (failure(401, f"bad key {KEY}"), 1, r"refused the API key.*\*\*\*.*YTRAG_LLM_API_KEY"),
        (failure(404, "no such model"), 1, "no such model.*YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL"),
        (failure(400, "context too long"), 1, "refused the request.*context too long"),
        (Reply("<html>\n<h1>Welcome</h1>", content_type="text/html"), 1, "not answer with a chat.*Welcome"),
        (Reply("I think it is Ada.", content_type="text/plain"), 1, "not answer with a chat.*I think"),
        (Reply('{"choices": [{"message": {"content": "Ad'), 1, "not answer with a chat completion"),
        (Reply(""), 1, "an empty body arrived"),
        (Reply("{}"), 1, "not answer with a chat completion"),
        (Reply('{"choices": []}'), 1, "not answer with a chat completion"),
        (Reply('{"choices": null, "error": {"message": "busy"}}'), 1, "not answer with a chat.*busy"),
        (Reply('{"choices": [{"message": {"content": 7}}]}'), 1, "not answer with a chat completion"),
        (chat(""), 1, "empty text.*stop"),
        (chat(None), 1, "empty text"),
    ],
)
def test_failures_are_told_and_never_with_the_key(reply: Reply, n_requests: int, message: str) -> None:
    with endpoint(reply) as served, pytest.raises(LLMError, match=message) as caught:
        ask(served)
    assert len(served.requests) == n_requests
    text = str(caught.value)
    assert "small-1" in text
    assert "127.0.0.1" in text
    assert KEY not in text
    assert "\n" not in text
    assert len(text) < 600


def test_a_slow_endpoint_times_out() -> None:
    with endpoint(Reply("{}", delay=30)) as served:
        with pytest.raises(LLMError, match=r"no answer within 0\.2 s \(2 tries\)"):
            ask(served, timeout=0.2, max_retries=1)
        served.await_requests(2)
        assert len(served.requests) == 2


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://user:pass@127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(LLMError, match="cannot be reached") as caught:
            model_at(base_url, max_retries=0).complete(MESSAGES, max_tokens=8)
    assert "pass" not in str(caught.value)


def test_options_that_a_model_refuses_are_put_differently() -> None:
    replies = (
        failure(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        failure(400, "Unsupported value: 'temperature' does not support 0"),
        chat("ok"),
    )
    with endpoint(*replies) as served:
        model = model_at(served.base_url)
        assert model.complete(MESSAGES, max_tokens=8).text == "ok"
        assert model.complete(MESSAGES, max_tokens=9).text == "ok"
    assert len(served.requests) == 4
    assert served.requests[-1]["max_completion_tokens"] == 9
    assert "max_tokens" not in served.requests[-1]
    assert "temperature" not in served.requests[-1]


def test_content_parts_and_missing_usage() -> None:
    parts = [{"type": "text", "text": "A"}, {"type": "image"}, {"type": "text", "text": "da"}]
    with endpoint(chat(parts, usage=None)) as served:
        assert ask(served) == Completion("Ada", 0, 0, "stop")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("<think>\nhm\n</think>\n\nAda", "Ada"),
        ("hm, well\n</think>\nAda", "Ada"),
        ("<think>never ends", ""),
        ("<THINK>a</THINK>Ada<thinking>b</thinking>.", "Ada."),
        (" a < b > c ", "a < b > c"),
    ],
)
def test_reasoning_is_taken_out(text: str, wanted: str) -> None:
    assert strip_reasoning(text) == wanted


@pytest.mark.parametrize(
    "fields",
    [
        {"base_url": "localhost:8000/v1", "model": "m"},
        {"base_url": "", "model": "m"},
        {"base_url": "http://localhost/v1", "model": " "},
        {"base_url": "http://localhost/v1", "model": "m", "timeout": 0},
        {"base_url": "http://localhost/v1", "model": "m", "max_retries": -1},
    ],
)
def test_settings_are_checked(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        LLMSettings.model_validate(fields)


def test_settings_hide_the_key() -> None:
    settings = LLMSettings(base_url="http://localhost/v1", model="m", api_key=SecretStr(KEY))
    assert KEY not in repr(settings)
    assert KEY not in settings.model_dump_json()
