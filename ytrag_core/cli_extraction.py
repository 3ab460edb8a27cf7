"""Options that say who reads triples out of documents, how a language model is asked, what that may cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_options import Extractor, Style, UnknownTypes
from ytrag_core.environment import language_models

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.pipeline.plan import ExtractionPlan

__all__ = ["ExtractionOptions", "naming_plan"]

_MODEL = "Language model"
_BUDGET = "What it may cost"


@dataclass(frozen=True, slots=True)
class ExtractionOptions:
    """Who extracts, how, and at what cost."""

    extractor: Annotated[
        Extractor,
        typer.Option(help="Who extracts: a language model, rules, or auto: the model where one is set."),
    ] = Extractor.AUTO
    extractor_for: Annotated[
        list[str] | None,
        typer.Option(
            "--extractor-for",
            metavar="GLOB=EXTRACTOR",
            help="Another extractor for some documents: '*.pdf=llm'; repeatable, the last counts.",
            show_default=False,
        ),
    ] = None
    style: Annotated[
        Style | None,
        typer.Option(
            "--extraction-style",
            help="chunk: a call a passage; sentences: a call a sentence, for small models.",
            show_default="that of the knowledge base, else chunk",
            rich_help_panel=_MODEL,
        ),
    ] = None
    unknown_types: Annotated[
        UnknownTypes | None,
        typer.Option(
            help="Types that the schema lacks: propose and keep, or drop.",
            show_default="that of the knowledge base, else propose",
            rich_help_panel=_MODEL,
        ),
    ] = None
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Calls at a time.", rich_help_panel=_MODEL)
    ] = 8
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Send only the passages that failed before (see `ytrag jobs`); needs no PATH.",
            rich_help_panel=_MODEL,
        ),
    ] = False
    summaries: Annotated[
        bool | None,
        typer.Option(
            "--summaries/--no-summaries",
            help="Let the model name communities.",
            show_default="where a model is set",
            rich_help_panel=_MODEL,
        ),
    ] = None
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be sent and cost; send nothing.", rich_help_panel=_BUDGET
        ),
    ] = False
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Stop before this run has taken more tokens.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop before this run has cost more.", rich_help_panel=_BUDGET, show_default=False
        ),
    ] = None
    price_in: Annotated[
        float | None,
        typer.Option(
            min=0,
            envvar="YTRAG_LLM_PRICE_IN",
            help="Price of a million tokens in.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None
    price_out: Annotated[
        float | None,
        typer.Option(
            min=0,
            envvar="YTRAG_LLM_PRICE_OUT",
            help="Price of a million tokens out.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None

    def plan(self, kb: Path) -> ExtractionPlan:
        """Return what they mean for a knowledge base.

        Raises
        ------
        ConfigError
            A rule cannot be read, a model is wanted and none is set, or a value is out of range.
        """
        from ytrag_core.pipeline.plan import ExtractionPlan, parse_rule
        from ytrag_core.pipeline.settings import extraction_settings_for

        rules = tuple(map(parse_rule, self.extractor_for or []))
        is_offline = self.extractor is Extractor.OFFLINE and all(name == "offline" for _, name in rules)
        asks_nobody = is_offline and not self.summaries and not self.retry_failed
        settings = extraction_settings_for(
            kb,
            style=self.style and self.style.value,
            unknown_types=self.unknown_types and self.unknown_types.value,
            concurrency=self.concurrency,
            max_tokens=self.max_tokens,
            max_cost=self.max_cost,
            price_in=self.price_in,
            price_out=self.price_out,
        )
        return ExtractionPlan(
            extractor=self.extractor.value,
            rules=rules,
            settings=settings,
            models=None if asks_nobody else language_models(),
            retry_failed=self.retry_failed,
            summaries=self.summaries,
        )


def naming_plan(summaries: bool) -> ExtractionPlan | None:
    """Return the plan of a build that extracts nothing: to name communities, or none."""
    from ytrag_core.pipeline.plan import ExtractionPlan

    return ExtractionPlan(models=language_models(), summaries=True) if summaries else None
