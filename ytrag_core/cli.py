"""The command `ytrag`: reads arguments and environment, calls the library, shows what it returns."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import Annotated

import typer

from ytrag_core.cli_agent import ask, chat, trace_app
from ytrag_core.cli_entities import entities_app
from ytrag_core.cli_eval import eval_app
from ytrag_core.cli_explain import explain
from ytrag_core.cli_extraction import naming_plan
from ytrag_core.cli_groups import with_groups
from ytrag_core.cli_index import build, index, show_build
from ytrag_core.cli_jobs import jobs
from ytrag_core.cli_models import models_app
from ytrag_core.cli_options import (
    EncoderOption,
    FolderArgument,
    JsonOption,
    KbOption,
    PrecisionChoice,
    PrecisionOption,
    ResolveOption,
    SchemaOption,
    SummariesOption,
    VectorOptions,
)
from ytrag_core.cli_repair import repair, verify
from ytrag_core.cli_retrieve import EXAMPLE, retrieve
from ytrag_core.cli_schema import schema_app
from ytrag_core.cli_tune import tune
from ytrag_core.console import (
    ErrorBoundary,
    emit_json,
    prepare_streams,
    progress_bars,
    stdout_console,
)
from ytrag_core.environment import encoder_place, load_encoder, open_base

__all__ = ["app", "main"]

# Idle OpenMP threads that spin make small kernels slower by an order of magnitude; numba is not loaded yet.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

app = typer.Typer(
    cls=ErrorBoundary,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    epilog="Start with: ytrag demo",
)
import_app = typer.Typer(
    no_args_is_help=True,
    help="Build a knowledge base from triples that you already have.",
    epilog="Example: ytrag import openie my-corpus/ --kb kb",
)
app.add_typer(import_app, name="import")
app.add_typer(eval_app, name="eval")
app.add_typer(models_app, name="models")
app.add_typer(entities_app, name="entities")
app.command("retrieve", epilog=f"Example: ytrag retrieve {EXAMPLE} --kb kb --top-k 5")(retrieve)
app.command("explain", epilog=f"Example: ytrag explain {EXAMPLE} --kb kb")(explain)
app.add_typer(trace_app, name="trace")
app.command(epilog='Example: ytrag ask "Who taught the fog clock\'s inventor?" --kb kb --mode reject')(ask)
app.command(epilog="Example: ytrag chat --kb kb")(chat)
app.add_typer(schema_app, name="schema")
app.command("jobs", epilog="Example: ytrag jobs --kb kb --failed")(jobs)
app.command("verify", epilog="Example: ytrag verify --kb kb")(verify)
app.command("repair", epilog="Example: ytrag repair --kb kb")(repair)
app.command("tune", epilog="Example: ytrag tune --kb kb --questions questions.jsonl --apply")(tune)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    prepare_streams()
    app(prog_name="ytrag")


def _show_version(wanted: bool) -> None:
    if wanted:
        from ytrag_core import __version__

        typer.echo(f"ytrag {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Index documents or triples, and answer multi-hop questions over them with cited evidence."""


@app.command(epilog="Example: ytrag demo")
def demo(
    kb: Annotated[
        Path | None,
        typer.Option("--kb", metavar="DIR", help="Keep the knowledge base here.", show_default=False),
    ] = None,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Index the built-in sample and ask it a question that needs two passages."""
    from ytrag_core.demo import run_demo, show_demo

    with progress_bars() as progress:
        outcome = run_demo(kb, load_encoder(progress, encoder, precision.value, kb), progress)
    if as_json:
        emit_json(outcome.to_json())
    else:
        show_demo(stdout_console(), outcome)


app.command("index", epilog="Example: ytrag index notes/ report.md --kb kb")(index)


@import_app.command("openie", epilog="Example: ytrag import openie my-corpus/ --kb kb")
@with_groups
def import_openie(
    folder: FolderArgument,
    kb: KbOption,
    *,
    schema: SchemaOption = None,
    resolve: ResolveOption = None,
    vectors: VectorOptions,
    summaries: SummariesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a folder of corpus.jsonl {id, title, text} and openie.jsonl {passage_id, entities, triples}."""
    from ytrag_core.pipeline.settings import settings_for

    build(
        "openie",
        [folder],
        kb,
        vectors,
        as_json=as_json,
        schema=schema,
        settings=settings_for(kb, resolve=resolve and resolve.value),
        plan=naming_plan(summaries),
    )


@import_app.command("edges", epilog="Example: ytrag import edges my-graph/ --kb kb")
@with_groups
def import_edges(
    folder: FolderArgument,
    kb: KbOption,
    *,
    replace: Annotated[bool, typer.Option("--replace", help="Replace another graph in DIR.")] = False,
    vectors: VectorOptions,
    summaries: SummariesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a folder with nodes.parquet {id, name, type?} and edges.parquet {src, relation, dst}."""
    build(
        "edges",
        [folder],
        kb,
        vectors,
        as_json=as_json,
        replace=replace,
        plan=naming_plan(summaries),
    )


@app.command(epilog="Example: ytrag reembed --kb kb --encoder multilingual-e5-small")
@with_groups
def reembed(kb: KbOption, *, vectors: VectorOptions, as_json: JsonOption = False) -> None:
    """Encode everything in a knowledge base with another encoder; nothing is read or extracted again."""
    from ytrag_core.knowledge_base import KnowledgeBase

    with progress_bars() as progress:
        report = KnowledgeBase.reembed(
            kb,
            encoder=vectors.encoder,
            precision=vectors.precision.value,
            encoder_place=encoder_place(),
            progress=progress,
            reuse_vectors=vectors.reuse_vectors,
        )
    show_build(report, kb, as_json=as_json)


@app.command(epilog="Example: ytrag info --kb kb")
def info(kb: KbOption, as_json: JsonOption = False) -> None:
    """Describe a knowledge base: counts, snapshot, encoder, schema version, size."""
    from ytrag_core.reports import show_values

    values = open_base(kb).info()
    if as_json:
        emit_json(values)
    else:
        show_values(stdout_console(), values)


@app.command(epilog="Example: ytrag warmup")
def warmup(as_json: JsonOption = False) -> None:
    """Fetch the encoder and compile all kernels, so that the first real command is fast."""
    from ytrag_core.demo import run_warmup
    from ytrag_core.reports import show_values

    with progress_bars() as progress:
        done = run_warmup(lambda: load_encoder(progress), progress)
    if as_json:
        emit_json(done)
    else:
        show_values(stdout_console(), done)
