"""The command `ytrag tune`: the weights of the fusion, fitted to a user's own questions."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ytrag_core.cli_eval import documents_of_chunks, questions_of
from ytrag_core.cli_options import JsonOption, KbOption, checked_out
from ytrag_core.console import emit_json, note, progress_bars, stdout_console
from ytrag_core.environment import open_base
from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.evaluation.tuning import Judged
    from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["tune"]


def tune(
    kb: KbOption,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON Lines of {id, question, supporting_ids}.", show_default="none"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the weights and their report here.", show_default=False),
    ] = None,
    apply: Annotated[
        bool, typer.Option("--apply", help="Use the weights in this knowledge base from now on.")
    ] = False,
    reset: Annotated[
        bool, typer.Option("--reset", help="Go back to the weights that ytrag comes with.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Fit the weights of the fusion to questions of your own, and say what that brings.

    The weights are judged on questions that they were not fitted to (five folds, thrice; questions that share
    a passage stay together). They are taken over only where that finds more than chance would, and they
    survive later builds. Without --out and --apply nothing is stored.
    """
    from ytrag_core.retrieval.weights import TUNED_NAME

    if reset:
        _reset(kb / TUNED_NAME, used_alone=questions is None and out is None and not apply, kb=kb)
        emit_json({"origin": "shipped"}) if as_json else note("the weights are those that ytrag comes with")
        return
    if questions is None:
        raise ConfigError("--questions FILE is missing: questions with the passages that they want")
    target = checked_out(out)
    base = open_base(kb)
    judged = _judge(base, questions)
    report = judged.to_json() | {"applied": False}
    if not judged.reason:
        model = _model(base, questions, judged)
        if target is not None:
            model.write(target)
        if apply:
            model.write(kb / TUNED_NAME)
            report["applied"] = True
    if as_json:
        emit_json(report)
    else:
        from ytrag_core.reports import show_tuning

        show_tuning(stdout_console(), report, dict(base.info()["fusion"]["weights"]))
    if judged.reason and (apply or out is not None):
        raise ConfigError(f"nothing is stored: {judged.reason}")


def _judge(base: KnowledgeBase, file: Path) -> Judged:
    from ytrag_core.evaluation.run import measurable
    from ytrag_core.evaluation.samples import collect_samples
    from ytrag_core.evaluation.tuning import tune as fit_and_judge

    asked, _ = questions_of(file)
    documents = documents_of_chunks(base.path)
    scored, problems = measurable(asked, documents)
    for problem in problems:
        note(f"{problem['source']}: {problem['reason']}")
    weights = base.info()["fusion"]["weights"]
    with progress_bars() as progress:
        samples = collect_samples(
            base, scored, documents=documents, progress=lambda done, n: progress("retrieve", done, n)
        )
        return fit_and_judge(samples, weights, progress=lambda done, n: progress("fit and judge", done, n))


def _model(base: KnowledgeBase, file: Path, judged: Judged) -> Any:
    import hashlib

    from ytrag_core import __version__
    from ytrag_core.retrieval.weights import FusionWeights

    info = base.info()
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "version": __version__,
        "encoder": info["encoder"].get("fingerprint"),
        "snapshot": info["snapshot"],
        "data": {"name": file.name, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()},
        "n": judged.n,
        "n_groups": judged.n_groups,
        "figures": {"before": dict(judged.before), "cross_validated": dict(judged.after)},
    }
    return FusionWeights(judged.weights, report)


def _reset(path: Path, *, used_alone: bool, kb: Path) -> None:
    from ytrag_core.storage.files import writing
    from ytrag_core.storage.snapshot import Snapshot

    if not used_alone:
        raise ConfigError("--reset takes the tuned weights away; it goes with no other option but --kb")
    Snapshot.open(kb, verify="size")
    with writing(path):
        path.unlink(missing_ok=True)
