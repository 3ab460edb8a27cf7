"""The commands `ytrag entities`: which names were taken for one entity, and how to correct that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ytrag_core.cli_options import JsonOption, KbOption  # noqa: TC001 - typer reads it
from ytrag_core.console import emit_json, note, printable, progress_bars, stdout_console
from ytrag_core.environment import load_encoder
from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from ytrag_core.pipeline.entities import EntityChange, MergedEntity

__all__ = ["entities_app"]

entities_app = typer.Typer(
    no_args_is_help=True,
    help="Show which names were taken for one entity; merge and split entities.",
    epilog="Example: ytrag entities merges --kb kb",
)

_N_TRIPLES = 3


@entities_app.command("merges", epilog='Example: ytrag entities merges --kb kb --name "IBM"')
def merges(
    kb: KbOption,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Only the entity of this name.", show_default="all"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the entities that go by several names, with what spoke for it and what is said under each name."""
    from ytrag_core.pipeline.entities import read_merges

    found = read_merges(kb, name)
    if as_json:
        emit_json({"entities": [entity.to_json() for entity in found]})
        return
    console = stdout_console()
    title = f"{len(found)} entities of several names" if found else "no entity goes by several names"
    if name is not None and not found:
        title = f"{name} goes by one name"
    console.print(Text(printable(title), style="bold cyan"))
    for entity in found:
        _show_entity(console, entity, with_triples=name is not None)
    if found:
        note(f'take one apart with: ytrag entities split "{found[0].name}" --kb {kb}')


@entities_app.command("split", epilog='Example: ytrag entities split "Apple" --form "Apple Inc." --kb kb')
def split(
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="Any of its names.")],
    kb: KbOption,
    form: Annotated[
        str | None,
        typer.Option(
            "--form",
            metavar="NAME",
            help="The name that becomes an entity of its own.",
            show_default="each of its names",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Take an entity apart, now and in every later build; each name gets back what is said under it.

    The next snapshot is built at once from what is stored: nothing is read, extracted or encoded again.
    """
    from ytrag_core.pipeline.entities import split_entity
    from ytrag_core.pipeline.report import StageRecorder

    with progress_bars() as progress:
        encoder = load_encoder(progress, kb=kb)
        change = split_entity(kb, entity, encoder, StageRecorder(progress), form)
    _show_change(change, kb, as_json=as_json)


@entities_app.command("merge", epilog='Example: ytrag entities merge "IBM" "Big Blue" --kb kb')
def merge(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME NAME...", help="Names of two or more entities.")
    ],
    kb: KbOption,
    as_json: JsonOption = False,
) -> None:
    """Make one entity of several, now and in every later build.

    A name that several entities bear is told by its type: "Mercury [planet]". The next snapshot is built at
    once from what is stored: nothing is read, extracted or encoded again.
    """
    from ytrag_core.pipeline.entities import merge_entities
    from ytrag_core.pipeline.report import StageRecorder

    if len(names) < 2:
        raise ConfigError(f"one name arrived, {names[0]!r}; a merge takes two or more")
    with progress_bars() as progress:
        encoder = load_encoder(progress, kb=kb)
        change = merge_entities(kb, names, encoder, StageRecorder(progress))
    _show_change(change, kb, as_json=as_json)


def _show_entity(console: Console, entity: MergedEntity, *, with_triples: bool) -> None:
    console.print(Text(printable(entity.name), style="bold"))
    for member in entity.members:
        forms = ", ".join(member.forms) + (f" [{member.sense}]" if member.sense else "")
        why = f"{member.kind} of {member.linked_to}, {member.score:.2f}: {member.evidence}"
        counts = f"{len(member.chunk_ids)} passages, {len(member.triples)} facts"
        line = f"  {forms}  ({counts})" + (f"  {why}" if member.kind else "")
        console.print(Text(printable(line)), soft_wrap=True)
        for triple in member.triples[:_N_TRIPLES] if with_triples else ():
            console.print(Text(printable(f"    {' | '.join(triple)}"), style="dim"), soft_wrap=True)


def _show_change(change: EntityChange, kb: Path, *, as_json: bool) -> None:
    if as_json:
        emit_json(change.to_json())
        return
    console, report = stdout_console(), change.report
    done = f"{kb}: {change.action} done, snapshot {report.snapshot} built"
    console.print(Text(printable(done), style="bold cyan"))
    for name, members in change.entities.items():
        console.print(Text(printable(f"  {name}: {', '.join(members)}")), soft_wrap=True)
    console.print(Text(f"  {report.encoded_strings:,} strings encoded, {report.reused_strings:,} reused"))
    for told in report.notes:
        note(told)
    note("later builds honour it; the opposite command takes it back")
