"""What went wrong with an endpoint, in words that say what to do and never hold the API key."""

from __future__ import annotations

import json
import re
import time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openai import APIStatusError

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.replies import Gathered

__all__ = ["Complaints", "is_passing", "told", "wanted_pause"]

_EXCERPT = 200
_SECRET = 8
"""Keys shorter than this are placeholders of local servers (`none`, `ollama`)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+|\s+")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_AGAIN = re.compile(
    r"(?:try again in|retry(?:ing)? (?:in|after)|retryDelay\W{1,8}) ?"
    r"(\d{1,6}(?:\.\d+)?) ?(ms|milliseconds|s\b|seconds)",
    re.IGNORECASE,
)
_SPENT = re.compile(r"insufficient[_ ]quota|insufficient balance|余额|欠费", re.IGNORECASE)


def is_passing(status: int, said: str) -> bool:
    """Tell whether a refusal may pass by itself: a 408, 409, 429 or 5xx, but not money that is spent."""
    return (status in (408, 409, 429) or status >= 500) and not _SPENT.search(said)


def told(error: APIStatusError) -> str:
    """Return what an endpoint says about a refusal: its JSON, with letters as they are read, or its text."""
    body = error.body
    if isinstance(body, dict | list):
        return json.dumps(body, ensure_ascii=False)
    return error.response.text


def wanted_pause(headers: Mapping[str, str], said: str = "") -> float | None:
    """Return the seconds that an endpoint asks to wait, if it does.

    Parameters
    ----------
    headers
        Of its answer: Retry-After, in seconds or as a date.
    said
        What it says; some put it there ("try again in 2.5s", `"retryDelay": "34s"`).
    """
    for name, per_second in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d+)?", value):
            return float(value) / per_second
        if value:
            try:
                return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
            except ValueError:
                continue
    match = _AGAIN.search(said)
    if match is None:
        return None
    return float(match[1]) / (1000.0 if match[2].lower().startswith("m") else 1.0)


class Complaints:
    """Messages about one endpoint.

    Parameters
    ----------
    settings
        Where it is, what its model and its key are called.
    """

    def __init__(self, settings: LLMSettings) -> None:
        self._settings = settings
        self._key = settings.api_key.get_secret_value()
        self.address = _CREDENTIALS.sub("", settings.base_url)

    def of(self, what: str) -> str:
        """Return a sentence about the endpoint, without its key."""
        return self._without_key(f"the language model {self._settings.model} at {self.address} {what}")

    def of_status(self, error: APIStatusError, n_tries: int, pause: float | None = None) -> str:
        """Return what an HTTP status means, and what to do."""
        status = error.status_code
        said = f"HTTP {status}: {self._excerpt(told(error)) or 'no text'}"
        tries = _tries(n_tries)
        if status in (401, 403):
            return self.of(f"refused the API key ({said}); check YTRAG_LLM_API_KEY")
        if status == 404:
            return self.of(
                f"does not know this path or model ({said}); check YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL"
            )
        if status == 429:
            advice = "try again later" if pause is None else f"try again in {pause:.0f} s, as it asks"
            return self.of(f"is over its rate limit or quota ({said}; {tries}); {advice}")
        if status >= 500:
            return self.of(f"failed ({said}; {tries})")
        return self.of(f"refused the request ({said})")

    def of_connection(self, error: Exception, n_tries: int, *, started: bool) -> str:
        """Return what became of a connection: a time-out, or a loss."""
        if isinstance(error, TimeoutError) and str(error):
            return self.of(f"{error} ({_tries(n_tries)}); YTRAG_LLM_TIMEOUT gives it longer")
        timeout = "Timeout" in type(error).__name__
        if started:
            why = f"fell silent for {self._settings.timeout:g} s" if timeout else "lost the connection"
            return self.of(f"{why} in the middle of its reply; ask again")
        if timeout:
            return self.of(
                f"gave no answer within {self._settings.timeout:g} s ({_tries(n_tries)}); "
                "is it overloaded, or the model still loading? YTRAG_LLM_TIMEOUT gives it longer"
            )
        cause = self._excerpt(str(error.__cause__ or error)) or type(error).__name__
        return self.of(
            f"cannot be reached ({_tries(n_tries)}): {cause}; "
            "check YTRAG_LLM_BASE_URL, and that the server runs"
        )

    def of_body(self, body: str, *, started: bool) -> str:
        """Return what came instead of a chat completion."""
        if started:
            return self.of(f"broke off in the middle of its reply: {self._excerpt(body)!r}; ask again")
        arrived = f"{self._excerpt(body)!r} arrived" if body.strip() else "an empty body arrived"
        return self.of(
            f"did not answer with a chat completion: {arrived}; check that YTRAG_LLM_BASE_URL is the "
            "OpenAI-compatible address (it usually ends in /v1)"
        )

    def of_nothing(self, reply: Gathered) -> str:
        """Return what an empty reply means."""
        reason = f"finish reason: {reply.finish_reason or 'none'}"
        if reply.reasoning:
            return self.of(f"spent its whole reply on reasoning, and the text is empty ({reason})")
        return self.of(f"answered with an empty text ({reason})")

    def _excerpt(self, text: str) -> str:
        flat = self._without_key(_CONTROL.sub(" ", text).strip())
        return flat if len(flat) <= _EXCERPT else f"{flat[:_EXCERPT]}..."

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) >= _SECRET else text


def _tries(n_tries: int) -> str:
    return "one try" if n_tries == 1 else f"{n_tries} tries"
