"""The commands `ytrag verify` and `ytrag repair`: is a knowledge base whole, and how is it mended."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_options import EncoderOption, JsonOption, KbOption, PrecisionChoice, PrecisionOption
from ytrag_core.console import emit_json, note, progress_bars, stdout_console

if TYPE_CHECKING:
    from rich.console import Console

    from ytrag_core.pipeline.repair_report import RepairReport
    from ytrag_core.storage.checking import BaseState

__all__ = ["repair", "verify"]

_EXIT_WRONG = 1


def verify(
    kb: KbOption,
    every: Annotated[bool, typer.Option("--all", help="List sound files too.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Read every file of a knowledge base and compare its checksum; change nothing.

    Exit code 0: all is as it was written. 1: something is damaged or missing, `ytrag repair` mends it.
    """
    from ytrag_core.knowledge_base import KnowledgeBase

    with progress_bars() as progress:
        state = KnowledgeBase.verify(kb, progress=progress)
    if as_json:
        emit_json(state.to_json())
    else:
        _show_state(stdout_console(), state, every=every)
    if state.wrong:
        note(f"repair it: ytrag repair --kb {kb}")
        raise typer.Exit(_EXIT_WRONG)


def repair(
    kb: KbOption,
    source: Annotated[
        Path | None,
        typer.Option(
            "--source",
            metavar="FOLDER",
            help="Where the folder of an imported graph lies now.",
            show_default="where it was",
        ),
    ] = None,
    encoder: EncoderOption = None,
    precision: PrecisionOption = PrecisionChoice.AUTO,
    as_json: JsonOption = False,
) -> None:
    """Make a damaged knowledge base whole: keep what is sound, and make again what is not.

    Damaged files are moved to DIR/damaged, never removed. Lost parts are made from the sound ones and from
    meta.sqlite; only texts whose vectors are lost are encoded again. It may be interrupted and run again.
    Exit code 0: everything is back. 1: something is lost for good, and is listed.
    """
    from ytrag_core.environment import encoder_place
    from ytrag_core.knowledge_base import KnowledgeBase

    with progress_bars() as progress:
        report = KnowledgeBase.repair(
            kb,
            encoder=encoder,
            precision=precision.value,
            encoder_place=encoder_place(),
            source=source,
            progress=progress,
        )
    if as_json:
        emit_json(report.to_json())
    else:
        _show_report(stdout_console(), report)
    if report.lost:
        raise typer.Exit(_EXIT_WRONG)


def _show_state(console: Console, state: BaseState, *, every: bool) -> None:
    from ytrag_core.rendering import INDENT, heading, say

    n_bytes = sum(max(file.bytes, 0) for file in state.files)
    wrong = state.wrong
    said = (
        f"{len(wrong):,} of {len(state.files):,} files are damaged" if wrong else "all is as it was written"
    )
    heading(console, f"{state.root}: {said} ({len(state.files):,} files, {n_bytes:,} bytes)")
    for file in state.files:
        if every or file.state != "sound":
            why = f": {file.why}" if file.why else ""
            say(console, f"{file.state:9} {file.path}{why}", indent=INDENT)
    if state.is_written:
        note("another process is writing it: what it has not finished is no part of it yet")


def _show_report(console: Console, report: RepairReport) -> None:
    from ytrag_core.rendering import INDENT, heading, say

    if not report.files and not report.lost:
        heading(console, f"{report.path}: nothing to repair, snapshot {report.snapshot or 'none'}")
    else:
        done = "is what it was" if report.in_place else "is live now"
        heading(console, f"{report.path}: repaired, snapshot {report.snapshot} {done}")
    for file in report.files:
        say(console, f"{file.path}: {file.how}", indent=INDENT)
    if report.build is not None:
        build = report.build
        counts = f"{build.encoded_strings:,} strings encoded, {build.reused_strings:,} reused"
        say(console, counts, indent=INDENT)
    for text in report.lost:
        say(console, f"LOST: {text}", indent=INDENT)
    for text in [*report.notes, *(report.build.notes if report.build is not None else ())]:
        note(text)
    if report.aside:
        note(
            f"what was damaged is kept in {report.path / report.aside} ({report.aside_bytes:,} bytes); "
            "remove that folder when you need it no more"
        )
