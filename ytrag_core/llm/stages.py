"""One language model for each stage of the work, over shared limits, one ledger and one cache."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from ytrag_core.errors import ConfigError, LLMError, ReplyError
from ytrag_core.llm.cache import reply_key
from ytrag_core.llm.chat import Completion
from ytrag_core.llm.limits import RateLimits
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.llm.usage import Usage, UsageLedger

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence
    from pathlib import Path

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.cache import ReplyCache
    from ytrag_core.llm.chat import LanguageModel, Message
    from ytrag_core.llm.language import Language

__all__ = ["STAGES", "Stage", "StageModel", "StageModels"]

Stage = Literal["extract", "decompose", "reason", "judge", "summarise"]
STAGES: tuple[Stage, ...] = get_args(Stage)
"""What language models are asked for."""


class StageModels:
    """The language models of all stages.

    Parameters
    ----------
    default
        The model of every stage that has none of its own.
    by_stage
        Models of single stages.
    limits
        What the models share; `cancel` on it ends all waiting.
    ledger
        Where usage is written; by default a new one.
    cache
        Where replies are remembered; None for nowhere.
    prompts
        A folder with the user's own prompts.

    Attributes
    ----------
    limits, ledger, cache, prompts
        As given.
    """

    def __init__(
        self,
        default: LanguageModel,
        by_stage: Mapping[Stage, LanguageModel] | None = None,
        *,
        limits: RateLimits | None = None,
        ledger: UsageLedger | None = None,
        cache: ReplyCache | None = None,
        prompts: Path | None = None,
    ) -> None:
        self.limits = limits or RateLimits()
        self.ledger = ledger or UsageLedger()
        self.cache = cache
        self.prompts = prompts
        self._default = default
        self._by_stage = dict(by_stage or {})
        for stage in self._by_stage:
            _check(stage)

    @classmethod
    def of_endpoint(
        cls,
        settings: LLMSettings,
        names: Mapping[Stage, str] | None = None,
        *,
        limits: RateLimits | None = None,
        cache: ReplyCache | None = None,
        prompts: Path | None = None,
    ) -> Self:
        """Return the models of one endpoint.

        Parameters
        ----------
        settings
            Where it is, and the model of every stage that `names` does not name.
        names
            Names of the models of single stages.
        limits, cache, prompts
            As for the class.
        """
        from ytrag_core.llm.openai_model import OpenAIModel

        limits = limits or RateLimits()
        models = {settings.model: OpenAIModel(settings, limits=limits)}
        for name in (names or {}).values():
            if name not in models:
                models[name] = OpenAIModel(settings.model_copy(update={"model": name}), limits=limits)
        by_stage: dict[Stage, LanguageModel] = {stage: models[name] for stage, name in (names or {}).items()}
        return cls(models[settings.model], by_stage, limits=limits, cache=cache, prompts=prompts)

    def model(self, stage: Stage) -> StageModel:
        """Return the model of a stage; what it costs is written down under that stage."""
        _check(stage)
        return StageModel(
            self._by_stage.get(stage, self._default), stage, self.ledger, self.cache, self.prompts
        )

    def has_own(self, stage: Stage) -> bool:
        """Return whether a stage has a model of its own."""
        _check(stage)
        return stage in self._by_stage

    def prompt(self, name: str, language: Language) -> str:
        """Return a prompt, the user's own where there is one."""
        return prompt(name, language, self.prompts)

    def with_cache(self, cache: ReplyCache | None) -> StageModels:
        """Return the same models, limits and ledger over another cache."""
        return StageModels(
            self._default,
            self._by_stage,
            limits=self.limits,
            ledger=self.ledger,
            cache=cache,
            prompts=self.prompts,
        )


class StageModel:
    """A language model at work for one stage: what it costs is written down, replies may be remembered.

    Parameters
    ----------
    model
        Who is asked. One that cannot stream gives its reply in one piece.
    stage
        What for.
    ledger
        Where usage is written. Where the endpoint does not say, it is estimated.
    cache
        Where replies are remembered; None for nowhere. Replies cut at `max_tokens` are not.
    prompts
        A folder with the user's own prompts.
    """

    def __init__(
        self,
        model: LanguageModel,
        stage: str,
        ledger: UsageLedger,
        cache: ReplyCache | None = None,
        prompts: Path | None = None,
    ) -> None:
        self.prompts = prompts
        self._model = model
        self._stage = stage
        self._ledger = ledger
        self._cache = cache

    @property
    def identity(self) -> str:
        """What the model is called, and where it is."""
        return str(getattr(self._model, "identity", type(self._model).__name__))

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the model's next turn, or the one that is remembered.

        Raises
        ------
        LLMError
            What the model raises.
        """
        key = self._key(messages, max_tokens, schema)
        known = self._recalled(key)
        if known is not None:
            return known
        try:
            completion = self._model.complete(messages, max_tokens=max_tokens, schema=schema)
        except LLMError as error:
            self._count_failure(error)
            raise
        return self._counted(key, messages, completion)

    def stream(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Generator[str, None, Completion]:
        """Yield the model's next turn piece by piece, and return all of it.

        Raises
        ------
        LLMError
            What the model raises.
        """
        key = self._key(messages, max_tokens, schema)
        known = self._recalled(key)
        if known is not None:
            yield known.text
            return known
        stream = getattr(self._model, "stream", None)
        if stream is None:
            completion = self.complete(messages, max_tokens=max_tokens, schema=schema)
            yield completion.text
            return completion
        written: list[str] = []
        held = {} if schema is None else {"schema": schema}
        reply: Generator[str, None, Completion] = stream(messages, max_tokens=max_tokens, **held)
        try:
            while True:
                try:
                    written.append(next(reply))
                except StopIteration as stop:
                    completion = stop.value
                    break
                yield written[-1]
        except GeneratorExit:
            reply.close()
            self._ledger.add(self._stage, Usage.of(_estimated(messages, Completion("".join(written)))))
            raise
        except LLMError as error:
            self._count_failure(error, messages, "".join(written))
            raise
        return self._counted(key, messages, completion)

    def _key(self, messages: Sequence[Message], max_tokens: int, schema: Mapping[str, Any] | None) -> str:
        return reply_key(self.identity, messages, max_tokens, schema) if self._cache is not None else ""

    def _recalled(self, key: str) -> Completion | None:
        known = self._cache.get(key) if self._cache is not None else None
        return replace(known, prompt_tokens=0, completion_tokens=0, cached=True) if known else None

    def _counted(self, key: str, messages: Sequence[Message], completion: Completion) -> Completion:
        if not (completion.prompt_tokens or completion.completion_tokens):
            completion = _estimated(messages, completion)
        self._ledger.add(self._stage, Usage.of(completion))
        if self._cache is not None and completion.finish_reason != "length":
            self._cache.put(key, completion)
        return completion

    def _count_failure(self, error: LLMError, messages: Sequence[Message] = (), written: str = "") -> None:
        """Write down a call without a reply, and what came of the reply before it broke off."""
        if isinstance(error, ReplyError):
            usage = Usage.of(error)
        else:
            usage = Usage.of(_estimated(messages, Completion(written))) if written else Usage(1)
        self._ledger.add(self._stage, usage)


def _estimated(messages: Sequence[Message], completion: Completion) -> Completion:
    """Return a completion with an estimate of its tokens."""
    return replace(
        completion,
        prompt_tokens=sum(estimate_tokens(message.content) for message in messages),
        completion_tokens=estimate_tokens(completion.text),
        estimated=True,
    )


def _check(stage: str) -> None:
    if stage not in STAGES:
        raise ConfigError(f"there is no stage {stage!r}; there are {', '.join(STAGES)}")
