"""The command `ytrag index`, and what all commands that build have in common."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Any, Literal

from ytrag_core.cli_extraction import ExtractionOptions
from ytrag_core.cli_groups import with_groups
from ytrag_core.cli_options import (
    ChunkOverlapOption,
    ChunkTokensOption,
    Evolution,
    EvolveOption,
    JsonOption,
    KbOption,
    ResolveOption,
    SchemaOption,
    SomePathsArgument,
    VectorOptions,
)
from ytrag_core.console import emit_json, note, progress_bars, stdout_console
from ytrag_core.environment import encoder_place, load_encoder
from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.config import BuildSettings
    from ytrag_core.pipeline.estimate import Estimate
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.report import BuildReport

__all__ = ["build", "index", "show_build"]

BuildFormat = Literal["documents", "openie", "edges"]


@with_groups
def index(
    kb: KbOption,
    paths: SomePathsArgument = None,
    *,
    schema: SchemaOption = None,
    extraction: ExtractionOptions,
    evolve: EvolveOption = Evolution.REVIEW,
    chunk_tokens: ChunkTokensOption = None,
    chunk_overlap: ChunkOverlapOption = None,
    resolve: ResolveOption = None,
    vectors: VectorOptions,
    as_json: JsonOption = False,
) -> None:
    """Index documents: text, Markdown, HTML, PDF, Word, tables and JSON.

    PATH is a file, a folder, a pattern such as 'notes/**/*.md', or a zip archive. Records {id?, title?, text}
    come from .jsonl, .json and tables with a column called text. HTML and PDF need ytrag's extra "docs".
    What cannot be read is reported with its reason; the rest is indexed.

    With YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL set, a language model extracts. A run that was stopped, by
    Ctrl-C, a crash or --max-tokens, goes on where it was: nothing that is finished is sent again.
    """
    if not paths and not extraction.retry_failed:
        raise ConfigError("no PATH arrived; name a file, a folder or a pattern to index")
    if extraction.dry_run and extraction.retry_failed:
        raise ConfigError(
            "--dry-run tells what PATH would cost and --retry-failed sends what failed; "
            "`ytrag jobs --failed` lists that without sending it"
        )
    plan = extraction.plan(kb)
    from ytrag_core.config import EvolutionSettings
    from ytrag_core.pipeline.settings import settings_for

    settings = settings_for(
        kb,
        evolution=EvolutionSettings(mode=evolve.value),
        max_tokens=chunk_tokens,
        chunk_overlap=chunk_overlap,
        resolve=resolve and resolve.value,
    )
    if extraction.dry_run:
        _show_estimate(paths or [], kb, plan, settings, schema, vectors, as_json=as_json)
        return
    build(
        "documents",
        paths or [],
        kb,
        vectors,
        as_json=as_json,
        schema=schema,
        settings=settings,
        plan=plan,
    )


def _show_estimate(
    paths: list[Path],
    kb: Path,
    plan: ExtractionPlan,
    settings: BuildSettings,
    schema: str | None,
    vectors: VectorOptions,
    *,
    as_json: bool,
) -> None:
    from ytrag_core.pipeline.estimate import estimate_extraction
    from ytrag_core.pipeline.report import StageRecorder

    with progress_bars() as progress:
        loaded = load_encoder(progress, vectors.encoder, vectors.precision.value, kb)
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
    vectors: VectorOptions,
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
            encoder=vectors.encoder,
            precision=vectors.precision.value,
            encoder_place=encoder_place(),
            progress=progress,
            schema=schema,
            replace=replace,
            reuse_vectors=vectors.reuse_vectors,
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
