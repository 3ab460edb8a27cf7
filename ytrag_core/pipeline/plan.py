"""Who reads which document: rules, a language model, or whoever read it before."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Literal

from ytrag_core.config import ExtractionSettings
from ytrag_core.errors import ConfigError
from ytrag_core.llm.budget import Prices

if TYPE_CHECKING:
    from ytrag_core.llm.stages import StageModels
    from ytrag_core.llm.usage import Usage

__all__ = ["ExtractionPlan", "ExtractorName", "parse_rule"]

ExtractorName = Literal["auto", "llm", "offline"]
_NAMES: tuple[ExtractorName, ...] = ("auto", "llm", "offline")


@dataclass(frozen=True, slots=True)
class ExtractionPlan:
    """How a build extracts, and whether it names communities.

    Attributes
    ----------
    extractor
        `llm`: the language model; `offline`: rules; `auto`: the model where there is one, else whoever read
        the document before, else rules.
    rules
        (pattern, extractor) for single documents; the last that fits counts.
    settings
        Style, sizes, budget and prices.
    models
        The language models; None for none.
    retry_failed
        Send the passages that failed before, and nothing else.
    summaries
        Whether the model names communities: by default where one is there and `extractor` is not `offline`.

    Raises
    ------
    ConfigError
        When a model is wanted and none is there, or a cost is bounded and prices are not known.
    """

    extractor: ExtractorName = "auto"
    rules: tuple[tuple[str, ExtractorName], ...] = ()
    settings: ExtractionSettings = field(default_factory=ExtractionSettings)
    models: StageModels | None = None
    retry_failed: bool = False
    summaries: bool | None = None

    def __post_init__(self) -> None:
        wanted = [name for name in (self.extractor, *(name for _, name in self.rules)) if name == "llm"]
        if self.models is None and (wanted or self.retry_failed or self.summaries):
            raise ConfigError(
                "a language model is wanted and none is set: name an OpenAI-compatible endpoint in "
                "YTRAG_LLM_BASE_URL and a model in YTRAG_LLM_MODEL, or use --extractor auto or offline"
            )
        settings = self.settings
        if settings.max_cost is not None and (settings.price_in is None or settings.price_out is None):
            raise ConfigError(
                "a cost is bounded without prices: give what a million tokens cost with --price-in and "
                "--price-out, or bound the tokens with --max-tokens"
            )

    @property
    def names_communities(self) -> bool:
        """Whether the language model is asked to name communities."""
        if self.summaries is not None:
            return self.summaries
        return self.models is not None and self.extractor != "offline"

    def after(self, usage: Usage) -> ExtractionPlan:
        """Return the plan for what follows extraction: naming communities takes what is left of a bound."""
        settings, left = self.settings, float(self.settings.community_tokens)
        if settings.max_tokens is not None:
            left = min(left, settings.max_tokens - usage.total_tokens)
        if settings.max_cost is not None:
            prices = Prices(settings.price_in, settings.price_out)
            money = settings.max_cost - prices.cost(usage.prompt_tokens, usage.completion_tokens)
            dearest = max(prices.cost(1, 0), prices.cost(0, 1))
            left = min(left, money / dearest if dearest > 0.0 else left)
        bounded = settings.model_copy(update={"community_tokens": max(0, int(left))})
        return replace(self, settings=bounded)

    def extractor_of(self, document_id: str, source: str) -> ExtractorName:
        """Return who is to read a document.

        Parameters
        ----------
        document_id, source
            Its id and where it came from; a pattern fits when it fits one of them, or the source's last part.
        """
        names = (source, source.rpartition("/")[2], document_id)
        for pattern, extractor in reversed(self.rules):
            if any(fnmatchcase(name, pattern) for name in names):
                return extractor
        return self.extractor


def parse_rule(text: str) -> tuple[str, ExtractorName]:
    """Return the pattern and the extractor of `GLOB=EXTRACTOR`.

    Raises
    ------
    ConfigError
        When it is not of this form.
    """
    pattern, _, given = text.rpartition("=")
    name: ExtractorName | None = next((name for name in _NAMES if name == given.strip()), None)
    if not pattern or name is None:
        raise ConfigError(
            f"{text!r} arrived; a pattern of files and one of {', '.join(_NAMES)} was wanted, "
            "for example '*.pdf=llm'"
        )
    return pattern, name
