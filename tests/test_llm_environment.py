"""Language models as the environment names them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.chat_endpoint import Reply, chat, endpoint
from ytrag_core.environment import language_models, prompts_folder
from ytrag_core.errors import ConfigError, LLMError
from ytrag_core.llm.chat import Message

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-very-secret-key"
MESSAGES = [Message("user", "Who?")]


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("YTRAG_LLM_", "YTRAG_PROMPTS")):
            monkeypatch.delenv(name)


def said(monkeypatch: pytest.MonkeyPatch, base_url: str, **values: str) -> None:
    values = {"BASE_URL": base_url, "MODEL": "large", "API_KEY": KEY} | values
    for name, value in values.items():
        monkeypatch.setenv(f"YTRAG_LLM_{name}", value)


def test_nothing_named_is_no_model() -> None:
    assert language_models() is None
    assert prompts_folder() is None


def test_a_model_for_each_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(chat("ok")) as served:
        said(monkeypatch, served.base_url, MODEL_EXTRACT=" small ", MODEL_SUMMARISE="", MODEL_JUDGE="fair")
        models = language_models()
        assert models is not None
        for stage in ("extract", "decompose", "reason", "judge", "summarise"):
            models.model(stage).complete(MESSAGES, max_tokens=9)
    asked = [request["model"] for request in served.requests]
    assert asked == ["small", "large", "large", "fair", "large"]
    assert served.headers[0]["authorization"] == f"Bearer {KEY}"


def test_timeout_retries_and_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint(Reply("{}", delay=30)) as served:
        said(monkeypatch, served.base_url, TIMEOUT="0.2", RETRIES="0")
        models = language_models()
        assert models is not None
        with pytest.raises(LLMError, match=r"no answer within 0\.2 s \(one try\)"):
            models.model("reason").complete(MESSAGES, max_tokens=9)
    said(monkeypatch, "http://localhost/v1", REQUESTS_PER_MINUTE="60", TOKENS_PER_MINUTE="9e4")
    models = language_models()
    assert models is not None
    assert models.limits.requests_per_minute == 60.0
    assert models.limits.tokens_per_minute == 90_000.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("TIMEOUT", "soon", "YTRAG_LLM_TIMEOUT must be a number above 0, 'soon' arrived"),
        ("TIMEOUT", "0", "YTRAG_LLM_TIMEOUT must be a number above 0"),
        ("REQUESTS_PER_MINUTE", "-5", "YTRAG_LLM_REQUESTS_PER_MINUTE must be a number above 0"),
        ("TOKENS_PER_MINUTE", "nan", "YTRAG_LLM_TOKENS_PER_MINUTE must be a number above 0"),
        ("TOKENS_PER_MINUTE", "inf", "YTRAG_LLM_TOKENS_PER_MINUTE must be a number above 0"),
        ("RETRIES", "-1", "YTRAG_LLM_RETRIES must be a number such as 5, '-1' arrived"),
        ("RETRIES", "²", "YTRAG_LLM_RETRIES must be a number"),
        ("BASE_URL", "localhost", "YTRAG_LLM_BASE_URL must start with http"),
        ("MODEL", "", "needs YTRAG_LLM_MODEL too"),
    ],
)
def test_nonsense_is_told_without_the_key(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, message: str
) -> None:
    said(monkeypatch, "http://localhost/v1", **{name: value})
    with pytest.raises(ConfigError, match=message) as caught:
        language_models()
    assert KEY not in str(caught.value)


def test_prompts_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said(monkeypatch, "http://localhost/v1")
    monkeypatch.setenv("YTRAG_PROMPTS", str(tmp_path))
    (tmp_path / "evidence.en.txt").write_text("{question}", encoding="utf-8")
    models = language_models()
    assert models is not None
    assert models.prompt("evidence", "en") == "{question}"
    (tmp_path / "evidence.en.txt").write_text("{nonsense}", encoding="utf-8")
    with pytest.raises(ConfigError, match="nonsense"):
        language_models()
    monkeypatch.setenv("YTRAG_PROMPTS", str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="is no folder"):
        language_models()
