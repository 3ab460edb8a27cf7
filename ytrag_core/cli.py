"""The command `ytrag`: reads arguments and environment, calls the library, shows what it returns."""

from __future__ import annotations

import os
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ytrag_core.cli_agent import ask, chat, trace_app
from ytrag_core.cli_explain import explain
from ytrag_core.cli_index import build, index, naming_plan, show_build
from ytrag_core.cli_jobs import jobs
from ytrag_core.cli_models import models_app
from ytrag_core.cli_options import (
    EncoderOption,
    FolderArgument,
    JsonOption,
    KbOption,
    PrecisionChoice,
    PrecisionOption,
    ReuseOption,
    SchemaOption,
    SummariesOption,
    comma_depths,
    comma_names,
)
from ytrag_core.cli_retrieve import EXAMPLE, retrieve
from ytrag_core.cli_schema import schema_app
from ytrag_core.console import (
    ErrorBoundary,
    emit_json,
    note,
    prepare_streams,
    progress_bars,
    stdout_console,
)
from ytrag_core.environment import encoder_place, load_encoder, open_base

if TYPE_CHECKING:
    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.knowledge_base import KnowledgeBase

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
eval_app = typer.Typer(
    no_args_is_help=True,
    help="Measure a knowledge base on questions with known answers.",
    epilog="Example: ytrag eval retrieval --kb kb --questions questions.jsonl --baselines dense,bm25",
)
app.add_typer(import_app, name="import")
app.add_typer(eval_app, name="eval")
app.add_typer(models_app, name="models")
app.command("retrieve", epilog=f"Example: ytrag retrieve {EXAMPLE} --kb kb --top-k 5")(retrieve)
app.command("explain", epilog=f"Example: ytrag explain {EXAMPLE} --kb kb")(explain)
app.add_typer(trace_app, name="trace")
app.command(epilog='Example: ytrag ask "Who taught the fog clock\'s inventor?" --kb kb --mode reject')(ask)
app.command(epilog="Example: ytrag chat --kb kb")(chat)
app.add_typer(schema_app, name="schema")
app.command("jobs", epilog="Example: ytrag jobs --kb kb --failed")(jobs)


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
def import_openie(
    folder: FolderArgument,
    kb: KbOption,
    schema: SchemaOption = None,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    reuse_vectors: ReuseOption = None,
    summaries: SummariesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a folder of corpus.jsonl {id, title, text} and openie.jsonl {passage_id, entities, triples}."""
    build(
        *("openie", [folder], kb, encoder, precision, reuse_vectors),
        as_json=as_json,
        schema=schema,
        plan=naming_plan(summaries),
    )


@import_app.command("edges", epilog="Example: ytrag import edges my-graph/ --kb kb")
def import_edges(
    folder: FolderArgument,
    kb: KbOption,
    replace: Annotated[bool, typer.Option("--replace", help="Replace another graph in DIR.")] = False,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    reuse_vectors: ReuseOption = None,
    summaries: SummariesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Import a folder with nodes.parquet {id, name, type?} and edges.parquet {src, relation, dst}."""
    build(
        *("edges", [folder], kb, encoder, precision, reuse_vectors),
        as_json=as_json,
        replace=replace,
        plan=naming_plan(summaries),
    )


@app.command(epilog="Example: ytrag reembed --kb kb --encoder multilingual-e5-small")
def reembed(
    kb: KbOption,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    reuse_vectors: ReuseOption = None,
    as_json: JsonOption = False,
) -> None:
    """Encode everything in a knowledge base with another encoder; nothing is read or extracted again."""
    from ytrag_core.knowledge_base import KnowledgeBase

    with progress_bars() as progress:
        report = KnowledgeBase.reembed(
            kb,
            encoder=encoder,
            precision=precision.value,
            encoder_place=encoder_place(),
            progress=progress,
            reuse_vectors=reuse_vectors,
        )
    show_build(report, kb, as_json=as_json)


@eval_app.command("retrieval", epilog="Example: ytrag eval retrieval --kb kb --questions questions.jsonl")
def eval_retrieval(
    kb: KbOption,
    questions: Annotated[
        Path,
        typer.Option(metavar="FILE", help="JSON Lines of {id, question, answers, supporting_ids}."),
    ],
    top_k: Annotated[str, typer.Option(metavar="K,K", help="Depths to measure at.")] = "2,5,10,20",
    baselines: Annotated[
        str | None,
        typer.Option(metavar="A,B", help="Also measure these: dense, bm25, ppr.", show_default="none"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure recall, full chains, MRR (all in percent) and latency of retrieval.

    recall@k is the share of a question's supporting passages among the first k, chain@k the share of
    questions with all of them there. A record in several chunks counts as one passage.
    """
    from ytrag_core.evaluation.datasets import read_question_file

    depths = comma_depths(top_k)
    peers = comma_names(baselines, "--baselines") or []
    asked, problems = read_question_file(questions)
    for problem in problems:
        note(f"{problem.source}: {problem.reason}; it is not asked")
    report = _measure(open_base(kb), peers, asked, depths)
    report["problems"] = [{"source": problem.source, "reason": problem.reason} for problem in problems]
    if as_json:
        emit_json(report)
    else:
        from ytrag_core.reports import show_evaluation

        show_evaluation(stdout_console(), report)


def _measure(
    base: KnowledgeBase, peers: list[str], questions: list[Question], depths: list[int]
) -> dict[str, Any]:
    from ytrag_core.evaluation.baselines import make_baseline
    from ytrag_core.evaluation.run import Ranker, evaluate

    def ytrag(question: str, k: int) -> list[str]:
        return [chunk.id for chunk in base.retrieve(question, top_k=k).chunks]

    systems: dict[str, Ranker] = {"ytrag": ytrag}
    systems |= {name: make_baseline(base, name) for name in peers}
    documents = _documents_of_chunks(base.path)
    with progress_bars() as progress:
        return evaluate(
            systems,
            questions,
            top_k=depths,
            documents=documents,
            progress=progress,
            forget=base.encoder.forget_queries,
        )


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


def _documents_of_chunks(kb: Path) -> dict[str, str]:
    """Return chunk id -> document id of the live snapshot."""
    from ytrag_core.storage.snapshot import Snapshot

    snapshot = Snapshot.open(kb)
    ids = snapshot.table("documents", ["id"]).column("id").to_pylist()
    chunks = snapshot.table("chunks", ["id", "document"])
    documents = chunks.column("document").to_pylist()
    return {chunk: ids[row] for chunk, row in zip(chunks.column("id").to_pylist(), documents, strict=True)}


def _clean(question: str) -> str:
    from ytrag_core.documents.text import clean_text

    return clean_text(question)
