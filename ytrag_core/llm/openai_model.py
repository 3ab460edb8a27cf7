"""A language model behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

import random
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import LLMError, ReplyError
from ytrag_core.llm.complaints import Complaints, is_passing, told, wanted_pause
from ytrag_core.llm.dialect import Call, Dialect
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.replies import BrokenReplyError, Gathered
from ytrag_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from openai import APIStatusError

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.chat import Completion, Message

__all__ = ["OpenAIModel"]

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0
_LONGEST_WANTED = 120.0
_PATIENCE = 10
"""A reply that trickles in may take this many time-outs in all."""
_TOKENS_A_TURN = 8
_CHARACTERS_A_TOKEN = 16
_MANY = 10_000
_MAX_BYTES = 64 << 20


class OpenAIModel:
    """An OpenAI-compatible endpoint.

    Parameters
    ----------
    settings
        Where it is and what it is called. Nothing is sent before the first `complete`.
    limits
        Shared by all models of the endpoint; every try waits for its turn there.

    Notes
    -----
    OPENAI_API_KEY, OPENAI_ORG_ID and their kind play no part: a key must not reach an endpoint that it was
    not meant for. What an endpoint refuses (`max_tokens`, a temperature, a schema, the role `system`) is put
    another way, and remembered. After a lost connection, a time-out, a 429 or a 5xx it is asked again, with
    growing, random pauses, or when the endpoint says so (Retry-After, for everyone who waits).
    """

    def __init__(self, settings: LLMSettings, *, limits: RateLimits | None = None) -> None:
        import openai

        self._settings = settings
        self._limits = limits or RateLimits()
        self._complaints = Complaints(settings)
        self._client = openai.OpenAI(
            base_url=settings.base_url,
            api_key=settings.api_key.get_secret_value() or "none",
            timeout=settings.timeout,
            max_retries=0,
        )
        self._client.organization = None
        self._client.project = None
        self._mutex = threading.Lock()
        self._dialect = Dialect()

    @property
    def identity(self) -> str:
        """The model's name and where it is, by which replies are remembered."""
        return f"{self._settings.model} at {self._complaints.address}"

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the model's next turn.

        Parameters
        ----------
        messages
            The conversation so far, oldest first.
        max_tokens
            Upper bound of the reply's length.
        schema
            JSON Schema that the reply is held to, as far as the endpoint can.

        Raises
        ------
        ReplyError
            When the reply is empty.
        LLMError
            When the endpoint cannot be reached, keeps failing, or answers with anything but a chat
            completion. The API key is in no message.
        """
        written = self._ask(Call(messages, max_tokens, schema))
        while True:
            try:
                next(written)
            except StopIteration as stop:
                return self._checked(stop.value, schema)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Completion]:
        """Yield the model's next turn piece by piece, and return all of it.

        Parameters
        ----------
        messages, max_tokens, schema
            As for `complete`.

        Raises
        ------
        ReplyError
            When the reply is empty.
        LLMError
            As for `complete`; once a piece has come, nothing is tried again.
        """
        reply = yield from self._ask(Call(messages, max_tokens, schema, stream=True))
        return self._checked(reply, schema)

    def _ask(self, call: Call) -> Generator[str, None, Gathered]:
        """Ask until there is a reply; yield its text as it comes."""
        import openai

        dialect = self._dialect
        n_failures = 0
        while True:
            reply = Gathered()
            try:
                yield from self._try(dialect, call, reply)
            except openai.APIStatusError as error:
                other = dialect.after(error.status_code, told(error), call)
                if other is not None:
                    dialect = other
                    continue
                passing = is_passing(error.status_code, told(error))
                if not passing or n_failures >= self._settings.max_retries:
                    raise LLMError(self._complaints.of_status(error, n_failures + 1)) from None
                self._pause(n_failures, error)
            except _failures() as error:
                started = call.stream and bool(reply.text)
                if started or n_failures >= self._settings.max_retries:
                    said = self._complaints.of_connection(error, n_failures + 1, started=started)
                    raise LLMError(said) from None
                self._pause(n_failures)
            except BrokenReplyError as error:
                passing = not reply.text and is_passing(error.status, str(error))
                if not passing or n_failures >= self._settings.max_retries:
                    said = self._complaints.of_body(str(error), started=bool(reply.text))
                    raise LLMError(said) from None
                self._pause(n_failures)
            except openai.OpenAIError as error:
                raise LLMError(self._complaints.of(f"could not be asked: {error}")) from None
            else:
                self._learn(dialect)
                return reply
            n_failures += 1

    def _try(self, dialect: Dialect, call: Call, reply: Gathered) -> Iterator[str]:
        """Send a request when its turn has come, and yield the text of the reply."""
        estimated = call.max_tokens + sum(
            estimate_tokens(message.content) + _TOKENS_A_TURN for message in call.messages
        )
        create: Any = self._client.chat.completions.with_streaming_response.create
        self._limits.acquire(estimated)
        try:
            with create(**dialect.body(self._settings.model, call)) as response:
                for piece in reply.read(self._within_bounds(response.iter_bytes())):
                    yield piece
                    if len(reply.text) > _CHARACTERS_A_TOKEN * call.max_tokens + _MANY:
                        reply.finish_reason = "length"  # it does not know the bound, and would never end
                        break
        finally:
            self._limits.settle(estimated, self._used(estimated, call, reply))

    def _within_bounds(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        end = time.monotonic() + _PATIENCE * self._settings.timeout
        n_bytes = 0
        for piece in pieces:
            yield piece
            n_bytes += len(piece)
            if n_bytes > _MAX_BYTES:
                raise BrokenReplyError(f"more than {_MAX_BYTES >> 20} MB")
            if time.monotonic() > end:
                raise TimeoutError(f"took more than {_PATIENCE * self._settings.timeout:g} s for one reply")

    def _used(self, estimated: float, call: Call, reply: Gathered) -> float:
        """Return the tokens of a try: what the endpoint counted, else an estimate, 0 where nothing came."""
        done = reply.completion()
        if done.prompt_tokens or done.completion_tokens:
            return done.prompt_tokens + done.completion_tokens
        if not (reply.text or reply.reasoning):
            return 0.0
        written = estimate_tokens(reply.text) + estimate_tokens(reply.reasoning)
        return estimated - call.max_tokens + written

    def _pause(self, n_failures: int, error: APIStatusError | None = None) -> None:
        wanted = wanted_pause(error.response.headers, told(error)) if error is not None else None
        if wanted is not None and wanted > _LONGEST_WANTED and error is not None:
            raise LLMError(self._complaints.of_status(error, n_failures + 1, wanted)) from None
        if wanted is not None:
            self._limits.hold(wanted)
            self._limits.rest(wanted * random.uniform(1.0, 1.1))
        else:
            pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0**n_failures)
            self._limits.rest(pause * random.uniform(0.5, 1.0))

    def _learn(self, dialect: Dialect) -> None:
        with self._mutex:
            if dialect != self._dialect:
                self._dialect = self._dialect.joined(dialect)

    def _checked(self, reply: Gathered, schema: Mapping[str, Any] | None) -> Completion:
        """Return the reply; where a schema's JSON was put down as reasoning, that."""
        if not reply.text.strip() and schema is not None and reply.finish_reason != "length":
            reply.text = reply.reasoning
        done = reply.completion()
        if done.text.strip():
            return done
        raise ReplyError(
            self._complaints.of_nothing(reply),
            prompt_tokens=done.prompt_tokens,
            completion_tokens=done.completion_tokens,
        )


def _failures() -> tuple[type[Exception], ...]:
    """Return how a connection fails: the client's errors, and those of the HTTP library below it."""
    import openai

    below = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    kinds: list[type[Exception]] = [openai.APIConnectionError, TimeoutError]
    return (*kinds, *(module.HTTPError for module in below), *(module.StreamError for module in below))
