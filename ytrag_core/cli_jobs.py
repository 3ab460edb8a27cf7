"""The command `ytrag jobs`: what became of the passages that a language model was to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_options import JsonOption, KbOption  # noqa: TC001 - typer reads them
from ytrag_core.console import emit_json, note, stdout_console

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from ytrag_core.pipeline.jobs import JobsReport

__all__ = ["jobs"]

_SHOWN = 20


def jobs(
    kb: KbOption,
    failed: Annotated[bool, typer.Option("--failed", help="Only what failed.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what became of passages that were sent to a language model, and what is left to send.

    failed: no reply could be used. salvaged: a part of the reply was lost. pending: not sent yet.
    """
    from ytrag_core.pipeline.jobs import list_jobs

    report = list_jobs(kb, statuses=("failed",) if failed else ("failed", "salvaged", "pending"))
    if as_json:
        emit_json(report.to_json())
        return
    _show(stdout_console(), report, kb)


def _show(console: Console, report: JobsReport, kb: Path) -> None:
    from ytrag_core.rendering import INDENT, heading, more, say
    from ytrag_core.reports import show_values

    show_values(console, {**report.counts, **report.usage.to_json()})
    for status in ("failed", "salvaged", "pending"):
        rows = [row for row in report.jobs if row.status == status]
        if not rows:
            continue
        heading(console, f"{status}: {len(rows):,}")
        for row in rows[:_SHOWN]:
            tries = f" ({row.tries} tries)" if row.tries > 1 else ""
            reason = f": {row.reason}{tries}" if row.reason else ""
            say(console, f"{row.source}, passage {row.chunk_id}{reason}", indent=INDENT)
        more(console, len(rows) - _SHOWN)
    if report.counts["failed"]:
        note(f"try them again: ytrag index --retry-failed --kb {kb}")
    if report.counts["pending"]:
        note("send what is pending: run the same `ytrag index` command again")
