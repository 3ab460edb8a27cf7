"""A language model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError, field_validator

from ytrag_core.errors import LLMError
from ytrag_core.llm.chat import Completion

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai import APIStatusError

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.chat import Message

__all__ = ["OpenAIModel"]

_EXCERPT = 200
_SECRET = 8
"""Keys shorter than this are placeholders of local servers (`none`, `ollama`)."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+|\s+")
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")


class _ReplyMessage(BaseModel):
    content: str = ""

    @field_validator("content", mode="before")
    @classmethod
    def _join_parts(cls, content: Any) -> Any:
        """Accept null, and the list of typed parts that some servers send instead of a string."""
        if isinstance(content, list):
            return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
        return "" if content is None else content


class _Choice(BaseModel):
    message: _ReplyMessage
    finish_reason: str | None = None


class _Tokens(BaseModel):
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @field_validator("*", mode="before")
    @classmethod
    def _count(cls, count: Any) -> int:
        """Accept anything: a miscounted reply is still a reply."""
        return count if isinstance(count, int) and count > 0 else 0


class _Reply(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Tokens = _Tokens()

    @field_validator("usage", mode="before")
    @classmethod
    def _known(cls, usage: Any) -> Any:
        return usage if isinstance(usage, dict) else {}


class OpenAIModel:
    """An OpenAI-compatible endpoint; retries and time-outs are the `openai` client's.

    Parameters
    ----------
    settings
        Where it is and what it is called. Nothing is sent before the first `complete`.

    Notes
    -----
    OPENAI_API_KEY, OPENAI_ORG_ID and their kind play no part: a key must not reach an endpoint that it was
    not meant for.
    """

    def __init__(self, settings: LLMSettings) -> None:
        import openai

        self._settings = settings
        self._key = settings.api_key.get_secret_value()
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=self._key or "none",
            timeout=settings.timeout,
            max_retries=settings.max_retries,
        )
        self._client.organization = None
        self._client.project = None
        self._options: dict[str, Any] = {"temperature": 0.0}
        self._limit = "max_tokens"

    def complete(self, messages: Sequence[Message], *, max_tokens: int) -> Completion:
        """Return the model's next turn.

        Parameters
        ----------
        messages
            The conversation so far, oldest first.
        max_tokens
            Upper bound of the reply's length.

        Raises
        ------
        LLMError
            When the endpoint cannot be reached, keeps failing, or answers with anything but a chat
            completion. The API key is in no message.
        """
        import openai

        turns = [{"role": message.role, "content": message.content} for message in messages]
        try:
            body = self._request(turns, max_tokens)
        except openai.APITimeoutError:
            raise self._error(
                f"gave no answer within {self._settings.timeout:g} s ({self._tries()}); "
                "is it overloaded, or the model still loading?"
            ) from None
        except openai.APIConnectionError as error:
            raise self._error(
                f"cannot be reached ({self._tries()}): {error.__cause__ or error}; "
                "check YTRAG_LLM_BASE_URL, and that the server runs"
            ) from None
        except openai.APIStatusError as error:
            raise self._error(self._status(error)) from None
        except openai.OpenAIError as error:
            raise self._error(f"could not be asked: {error}") from None
        return self._completion(body)

    def _request(self, turns: list[dict[str, str]], max_tokens: int) -> str:
        """Return the reply's body; where a model refuses an option, ask again the way it wants it."""
        import openai

        while True:
            options = {**self._options, self._limit: max_tokens}
            try:
                response = self._client.post(
                    "/chat/completions",
                    body={"model": self._settings.model, "messages": turns, **options},
                    cast_to=str,
                )
            except openai.BadRequestError as error:
                complaint = str(error.body or error)
                if self._limit == "max_tokens" and "max_completion_tokens" in complaint:
                    self._limit = "max_completion_tokens"
                elif "temperature" in complaint and self._options:
                    self._options = {}
                else:
                    raise
            else:
                return response

    def _completion(self, body: str) -> Completion:
        try:
            reply = _Reply.model_validate_json(body)
        except ValidationError:
            arrived = f"{self._excerpt(body)!r} arrived" if body.strip() else "an empty body arrived"
            raise self._error(
                f"did not answer with a chat completion: {arrived}; check that YTRAG_LLM_BASE_URL is the "
                "OpenAI-compatible address (it usually ends in /v1)"
            ) from None
        choice = reply.choices[0]
        if not choice.message.content.strip():
            raise self._error(
                f"answered with an empty text (finish reason: {choice.finish_reason or 'none'})"
            )
        usage = reply.usage
        return Completion(choice.message.content, usage.prompt_tokens, usage.completion_tokens)

    def _status(self, error: APIStatusError) -> str:
        status = error.status_code
        said = f"HTTP {status}: {self._excerpt(error.response.text) or 'no text'}"
        if status in (401, 403):
            return f"refused the API key ({said}); check YTRAG_LLM_API_KEY"
        if status == 404:
            return f"does not know this path or model ({said}); check YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL"
        if status == 429:
            return f"is over its rate limit or quota ({said}; {self._tries()}); try again later"
        if status >= 500:
            return f"failed ({said}; {self._tries()})"
        return f"refused the request ({said})"

    def _tries(self) -> str:
        n_tries = self._settings.max_retries + 1
        return "one try" if n_tries == 1 else f"{n_tries} tries"

    def _excerpt(self, text: str) -> str:
        flat = self._without_key(_CONTROL.sub(" ", text).strip())
        return flat if len(flat) <= _EXCERPT else f"{flat[:_EXCERPT]}..."

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "***") if len(self._key) >= _SECRET else text

    def _error(self, what: str) -> LLMError:
        url = _CREDENTIALS.sub("", self._settings.base_url)
        return LLMError(self._without_key(f"the language model {self._settings.model} at {url} {what}"))
