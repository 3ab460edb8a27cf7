"""The command `ytrag index`, and what all commands that build have in common."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ytrag_core.cli_options import (
    ChunkOverlapOption,
    ChunkTokensOption,
    EncoderOption,
    Evolution,
    EvolveOption,
    Extractor,
    JsonOption,
    KbOption,
    PrecisionChoice,
    PrecisionOption,
    ResolveOption,
    ReuseOption,
    SchemaOption,
    SomePathsArgument,
    Style,
    UnknownTypes,
)
from ytrag_core.console import emit_json, note, progress_bars, stdout_console
from ytrag_core.environment import encoder_place, language_models, load_encoder
from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.config import BuildSettings
    from ytrag_core.pipeline.estimate import Estimate
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.report import BuildReport

__all__ = ["build", "index", "naming_plan", "show_build"]

BuildFormat = Literal["documents", "openie", "edges"]
_MODEL = "Language model"
_BUDGET = "What it may cost"


def index(
    kb: KbOption,
    paths: SomePathsArgument = None,
    schema: SchemaOption = None,
    extractor: Annotated[
        Extractor,
        typer.Option(help="Who extracts: a language model, rules, or auto: the model where one is set."),
    ] = Extractor.AUTO,
    extractor_for: Annotated[
        list[str] | None,
        typer.Option(
            "--extractor-for",
            metavar="GLOB=EXTRACTOR",
            help="Another extractor for some documents: '*.pdf=llm'; repeatable, the last counts.",
            show_default=False,
        ),
    ] = None,
    style: Annotated[
        Style | None,
        typer.Option(
            "--extraction-style",
            help="chunk: a call a passage; sentences: a call a sentence, for small models.",
            show_default="that of the knowledge base, else chunk",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    unknown_types: Annotated[
        UnknownTypes | None,
        typer.Option(
            help="Types that the schema lacks: propose and keep, or drop.",
            show_default="that of the knowledge base, else propose",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(min=1, max=256, help="Calls at a time.", rich_help_panel=_MODEL)
    ] = 8,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed",
            help="Send only the passages that failed before (see `ytrag jobs`); needs no PATH.",
            rich_help_panel=_MODEL,
        ),
    ] = False,
    summaries: Annotated[
        bool | None,
        typer.Option(
            "--summaries/--no-summaries",
            help="Let the model name communities.",
            show_default="where a model is set",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be sent and cost; send nothing.", rich_help_panel=_BUDGET
        ),
    ] = False,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Stop before this run has taken more tokens.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            min=0, help="Stop before this run has cost more.", rich_help_panel=_BUDGET, show_default=False
        ),
    ] = None,
    price_in: Annotated[
        float | None,
        typer.Option(
            min=0,
            envvar="YTRAG_LLM_PRICE_IN",
            help="Price of a million tokens in.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None,
    price_out: Annotated[
        float | None,
        typer.Option(
            min=0,
            envvar="YTRAG_LLM_PRICE_OUT",
            help="Price of a million tokens out.",
            rich_help_panel=_BUDGET,
            show_default=False,
        ),
    ] = None,
    evolve: EvolveOption = Evolution.REVIEW,
    chunk_tokens: ChunkTokensOption = None,
    chunk_overlap: ChunkOverlapOption = None,
    resolve: ResolveOption = None,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    reuse_vectors: ReuseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Index documents: text, Markdown, HTML, PDF, Word, tables and JSON.

    PATH is a file, a folder, a pattern such as 'notes/**/*.md', or a zip archive. Records {id?, title?, text}
    come from .jsonl, .json and tables with a column called text. HTML and PDF need ytrag's extra "docs".
    What cannot be read is reported with its reason; the rest is indexed.

    With YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL set, a language model extracts. A run that was stopped, by
    Ctrl-C, a crash or --max-tokens, goes on where it was: nothing that is finished is sent again.
    """
    if not paths and not retry_failed:
        raise ConfigError("no PATH arrived; name a file, a folder or a pattern to index")
    if dry_run and retry_failed:
        raise ConfigError(
            "--dry-run tells what PATH would cost and --retry-failed sends what failed; "
            "`ytrag jobs --failed` lists that without sending it"
        )
    plan = _plan(
        kb,
        extractor,
        extractor_for or [],
        retry_failed=retry_failed,
        summaries=summaries,
        style=style and style.value,
        unknown_types=unknown_types and unknown_types.value,
        concurrency=concurrency,
        max_tokens=max_tokens,
        max_cost=max_cost,
        price_in=price_in,
        price_out=price_out,
    )
    from ytrag_core.config import EvolutionSettings
    from ytrag_core.pipeline.settings import settings_for

    settings = settings_for(
        kb,
        evolution=EvolutionSettings(mode=evolve.value),
        max_tokens=chunk_tokens,
        chunk_overlap=chunk_overlap,
        resolve=resolve and resolve.value,
    )
    if dry_run:
        _show_estimate(paths or [], kb, plan, settings, schema, encoder, precision, as_json=as_json)
        return
    build(
        *("documents", paths or [], kb, encoder, precision, reuse_vectors),
        as_json=as_json,
        schema=schema,
        settings=settings,
        plan=plan,
    )


def _plan(
    kb: Path,
    extractor: Extractor,
    rules: list[str],
    *,
    retry_failed: bool,
    summaries: bool | None,
    **settings: Any,
) -> ExtractionPlan:
    from ytrag_core.pipeline.plan import ExtractionPlan, parse_rule
    from ytrag_core.pipeline.settings import extraction_settings_for

    parsed = tuple(map(parse_rule, rules))
    asks_nobody = extractor is Extractor.OFFLINE and not summaries and all(n == "offline" for _, n in parsed)
    return ExtractionPlan(
        extractor=extractor.value,
        rules=parsed,
        settings=extraction_settings_for(kb, **settings),
        models=None if asks_nobody and not retry_failed else language_models(),
        retry_failed=retry_failed,
        summaries=summaries,
    )


def naming_plan(summaries: bool) -> ExtractionPlan | None:
    """Return the plan of a build that extracts nothing: to name communities, or none."""
    from ytrag_core.pipeline.plan import ExtractionPlan

    return ExtractionPlan(models=language_models(), summaries=True) if summaries else None


def _show_estimate(
    paths: list[Path],
    kb: Path,
    plan: ExtractionPlan,
    settings: BuildSettings,
    schema: str | None,
    encoder: str | None,
    precision: PrecisionChoice,
    *,
    as_json: bool,
) -> None:
    from ytrag_core.pipeline.estimate import estimate_extraction
    from ytrag_core.pipeline.report import StageRecorder

    with progress_bars() as progress:
        loaded = load_encoder(progress, encoder, precision.value, kb)
        estimate = estimate_extraction(kb, paths, loaded, settings, plan, StageRecorder(progress), schema)
    if as_json:
        emit_json(estimate.to_json())
    else:
        _print_estimate(estimate)


def _print_estimate(estimate: Estimate) -> None:
    from ytrag_core.reports import show_values

    values: dict[str, Any] = {
        "documents": estimate.documents,
        "passages": estimate.chunks,
        "to send": estimate.to_send,
        "read before": estimate.known,
        "failed before": estimate.failed_before,
        "read by rules": estimate.offline,
        "tokens in, about": estimate.prompt_tokens,
        "tokens out, about": estimate.completion_tokens,
        "for community names, at most": estimate.community_tokens,
    }
    if estimate.cost is not None:
        values["cost, about"] = round(estimate.cost, 4)
    show_values(stdout_console(), values)
    for problem in estimate.problems:
        note(f"{problem.source}: {problem.reason}")
    note("nothing was sent and nothing was changed")


def build(
    kind: BuildFormat,
    sources: list[Path],
    kb: Path,
    encoder: str | None,
    precision: PrecisionChoice,
    reuse_vectors: Path | None,
    *,
    as_json: bool,
    schema: str | None = None,
    replace: bool = False,
    settings: BuildSettings | None = None,
    plan: ExtractionPlan | None = None,
) -> None:
    """Build a knowledge base and show the report."""
    from ytrag_core.knowledge_base import KnowledgeBase

    with progress_bars() as progress:
        report = KnowledgeBase.build(
            kb,
            sources,
            format=kind,
            settings=settings,
            encoder=encoder,
            precision=precision.value,
            encoder_place=encoder_place(),
            progress=progress,
            schema=schema,
            replace=replace,
            reuse_vectors=reuse_vectors,
            plan=plan,
        )
    show_build(report, kb, as_json=as_json)


def show_build(report: BuildReport, kb: Path, *, as_json: bool) -> None:
    """Show the report of a build."""
    from ytrag_core.reports import show_report

    if as_json:
        emit_json(report.to_json())
        return
    show_report(stdout_console(), report, kb)
    for told in report.notes:
        note(told)
    note(f'ask it something: ytrag ask "..." --kb {kb}')
