"""The command `ytrag eval`: retrieval measured on questions with known passages."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ytrag_core.cli_options import JsonOption, KbOption, checked_out, comma_depths, comma_names
from ytrag_core.console import emit_json, note, progress_bars, stdout_console
from ytrag_core.environment import open_base

if TYPE_CHECKING:
    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.evaluation.run import Results
    from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["documents_of_chunks", "eval_app", "questions_of"]

eval_app = typer.Typer(
    no_args_is_help=True,
    help="Measure a knowledge base on questions with known answers.",
    epilog="Example: ytrag eval retrieval --kb kb --questions questions.jsonl --baselines dense,bm25",
)


@eval_app.command("retrieval", epilog="Example: ytrag eval retrieval --kb kb --questions questions.jsonl")
def eval_retrieval(
    kb: KbOption,
    questions: Annotated[
        Path,
        typer.Option(metavar="FILE", help="JSON Lines of {id, question, answers, supporting_ids, hops?}."),
    ],
    top_k: Annotated[str, typer.Option(metavar="K,K", help="Depths to measure at.")] = "2,5,10,20",
    baselines: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Also measure these: dense, bm25, ppr, ranks (all routes, by their ranks alone).",
            show_default="none",
        ),
    ] = None,
    ablation: Annotated[
        bool, typer.Option("--ablation", help="Also measure each route alone and all routes without each.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the resamples behind the intervals.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the run as JSON: versions, settings, the report, the result of every question.",
            show_default="none",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure recall, full chains, MRR (all in percent) and latency of retrieval.

    recall@k is the share of a question's supporting passages among the first k, chain@k the share of
    questions with all of them there; ids count, never titles. A record in several chunks counts as one
    passage. The report has 95 % intervals, rows by the number of hops, and the time of each route.
    """
    depths = comma_depths(top_k)
    peers = comma_names(baselines, "--baselines") or []
    target = checked_out(out)
    asked, problems = questions_of(questions)
    report, record = _measure(open_base(kb), questions, peers, asked, depths, seed=seed, ablation=ablation)
    report["problems"] = problems
    if target is not None:
        _write(target, record)
    if as_json:
        emit_json(report)
    else:
        from ytrag_core.reports import show_ablation, show_evaluation

        show_evaluation(stdout_console(), report)
        if ablation:
            show_ablation(stdout_console(), report["ablation"])


def questions_of(path: Path) -> tuple[list[Question], list[dict[str, str]]]:
    """Return the questions of a file, and what was set aside, which is told at once."""
    from ytrag_core.evaluation.datasets import naming, read_question_file
    from ytrag_core.retrieval.options import check_question

    asked, problems = read_question_file(path)
    for question in asked:
        with naming(question):
            check_question(question.question)
    for problem in problems:
        note(f"{problem.source}: {problem.reason}; it is not asked")
    return asked, [{"source": problem.source, "reason": problem.reason} for problem in problems]


def _measure(
    base: KnowledgeBase,
    file: Path,
    peers: list[str],
    questions: list[Question],
    depths: list[int],
    *,
    seed: int,
    ablation: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the report of `evaluate`, and the whole run as a record."""
    from ytrag_core.evaluation.ablation import ablate
    from ytrag_core.evaluation.baselines import make_baseline
    from ytrag_core.evaluation.rankers import KnowledgeBaseRanker, Ranker
    from ytrag_core.evaluation.record import run_record
    from ytrag_core.evaluation.run import evaluate, measurable

    systems: dict[str, Ranker] = {"ytrag": KnowledgeBaseRanker(base)}
    systems |= {name: make_baseline(base, name) for name in peers}
    documents = documents_of_chunks(base.path)
    results: dict[str, Results] = {}
    with progress_bars() as progress:
        report = evaluate(
            systems,
            questions,
            top_k=depths,
            documents=documents,
            progress=progress,
            forget=base.encoder.forget_queries,
            seed=seed,
            keep=results.__setitem__,
        )
        scored, _ = measurable(questions, documents)
        if ablation:
            report["ablation"] = ablate(
                base,
                scored,
                results["ytrag"],
                sorted(set(depths)),
                documents=documents,
                progress=progress,
                seed=seed,
            )
    return report, run_record(base, file, scored, results, report, seed=seed)


def _write(path: Path, record: dict[str, Any]) -> None:
    import json

    from ytrag_core.storage.files import replace_file, writing

    with writing(path):
        replace_file(path, json.dumps(record, ensure_ascii=False, indent=1).encode() + b"\n")


def documents_of_chunks(kb: Path) -> dict[str, str]:
    """Return chunk id -> document id of the live snapshot."""
    from ytrag_core.storage.snapshot import Snapshot

    snapshot = Snapshot.open(kb)
    ids = snapshot.table("documents", ["id"]).column("id").to_pylist()
    chunks = snapshot.table("chunks", ["id", "document"])
    documents = chunks.column("document").to_pylist()
    return {chunk: ids[row] for chunk, row in zip(chunks.column("id").to_pylist(), documents, strict=True)}
