"""The commands `ytrag schema` about a knowledge base: proposed types, decisions, versions."""

from __future__ import annotations

import getpass
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path  # noqa: TC003 - typer reads it
from typing import TYPE_CHECKING, Annotated

import typer

from ytrag_core.cli_options import JsonOption, KbOption  # noqa: TC001 - typer reads it
from ytrag_core.console import emit_json, note, progress_bars, stdout_console
from ytrag_core.errors import ConfigError
from ytrag_core.schema_rendering import (
    candidate_json,
    change_json,
    show_candidates,
    show_changes,
    show_decisions,
    show_differences,
    show_verdicts,
    verdict_json,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ytrag_core.config import EvolutionSettings
    from ytrag_core.schema.changes import Decision
    from ytrag_core.schema.evolution import Verdict
    from ytrag_core.schema.history import SchemaHistory
    from ytrag_core.schema.model import GraphSchema, TypeKind
    from ytrag_core.schema.proposals import Candidate

__all__ = ["add_review_commands", "open_history"]


class Kind(StrEnum):
    """Which kind of type is meant."""

    ENTITY = "entity"
    RELATION = "relation"
    ATTRIBUTE = "attribute"


NamesArgument = Annotated[
    list[str] | None, typer.Argument(metavar="NAME...", help="Proposed types.", show_default=False)
]
KindOption = Annotated[
    Kind | None,
    typer.Option("--kind", help="Where types of several kinds have that name.", show_default=False),
]
ByOption = Annotated[
    str | None, typer.Option("--by", metavar="WHO", help="For the history.", show_default="your login name")
]
WhyOption = Annotated[str, typer.Option("--why", metavar="TEXT", help="For the history.", show_default=False)]


def add_review_commands(app: typer.Typer) -> None:
    """Add the commands of this module to `ytrag schema`."""
    app.command("proposals", epilog="Example: ytrag schema proposals --kb kb")(proposals)
    app.command("accept", epilog='Example: ytrag schema accept "space mission" --kb kb')(accept)
    app.command("reject", epilog='Example: ytrag schema reject "misc" --kb kb --why "says nothing"')(reject)
    app.command("history", epilog="Example: ytrag schema history --kb kb")(history)
    app.command("rollback", epilog="Example: ytrag schema rollback 1 --kb kb")(rollback)
    app.command("diff", epilog="Example: ytrag schema diff 1 3 --kb kb")(diff)


@contextmanager
def open_history(kb: Path, *, writable: bool) -> Iterator[SchemaHistory]:
    """Open the history of a knowledge base's schema, also while a build is under way."""
    from ytrag_core.schema.history import SchemaHistory
    from ytrag_core.storage import layout
    from ytrag_core.storage.schema_store import SchemaStore
    from ytrag_core.storage.snapshot import Snapshot

    with SchemaStore.open(kb, writable=writable) as store:
        before = ""
        if layout.read_current(kb) is not None:
            before = Snapshot.open(kb, verify="size").manifest.schema_version
        yield SchemaHistory(store, before)


def proposals(
    kb: KbOption,
    show_rejected: Annotated[
        bool, typer.Option("--rejected", help="Show what was rejected instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the proposed types: what speaks for them, what is nearest, and what would become of them.

    add: it would enter in mode auto. alias: it is another name of a type. wait: too little speaks for it.
    ask: it is so close to a type that you have to say which it is.
    """
    with open_history(kb, writable=False) as history:
        if show_rejected:
            found = history.rejected()
            if as_json:
                emit_json({"rejected": [candidate_json(candidate) for candidate in found]})
            else:
                show_candidates(stdout_console(), found)
            return
        schema, verdicts = history.in_force(), _verdicts(history, kb)
    if as_json:
        emit_json(
            {
                "schema_version": "" if schema is None else schema.version,
                "proposals": [verdict_json(verdict) for verdict in verdicts],
            }
        )
    else:
        show_verdicts(stdout_console(), verdicts)


def accept(
    kb: KbOption,
    names: NamesArgument = None,
    kind: KindOption = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--as", metavar="TYPE", help="Other names of this type of the schema.", show_default=False
        ),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(
            "--description", metavar="TEXT", help="What the new type is.", show_default="as proposed"
        ),
    ] = None,
    ready: Annotated[
        bool, typer.Option("--ready", help="All that would enter in mode auto, instead of names.")
    ] = False,
    by: ByOption = None,
    why: WhyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Let proposed types into the schema, as types of their own or as other names of a type.

    The next build uses them; nothing is extracted again. Types that were rejected may be named too.
    """
    from ytrag_core.schema.evolution import decisions_of
    from ytrag_core.schema.review import acceptances, named

    if ready == bool(names) or (ready and (target or description)):
        raise ConfigError(
            "give the names of proposed types, or --ready alone for all that pass the thresholds"
        )
    if description is not None and (target is not None or len(names or ()) != 1):
        raise ConfigError("--description is for one new type; --as and several names take none")

    def decide(schema: GraphSchema, proposed: Sequence[Candidate]) -> list[Decision]:
        return acceptances(
            schema, named(proposed, names or [], _kind(kind)), target=target, description=description
        )

    with open_history(kb, writable=True) as history:
        if ready:
            judge = _judge(kb)
            made = history.evolve(
                lambda schema, found: decisions_of(judge(schema, found)),
                who=_who(by),
                why=why or "all that pass the thresholds",
            )
        else:
            made = history.accept(decide, who=_who(by), why=why)
        _tell(history, made, as_json=as_json)


def reject(
    kb: KbOption,
    names: NamesArgument = None,
    kind: KindOption = None,
    by: ByOption = None,
    why: WhyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Keep proposed types out of the schema, until someone accepts them."""
    from ytrag_core.schema.review import named, rejections

    if not names:
        raise ConfigError("give the names of the proposed types to reject")
    with open_history(kb, writable=True) as history:
        made = history.reject(
            lambda _, proposed: rejections(named(proposed, names, _kind(kind))), who=_who(by), why=why
        )
        _tell(history, made, as_json=as_json)


def history(
    kb: KbOption,
    number: Annotated[
        int | None,
        typer.Argument(metavar="[NUMBER]", help="Show this version's evidence.", show_default=False),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the versions of the schema: who changed what, when, why, and on what evidence."""
    with open_history(kb, writable=False) as opened:
        changes = opened.changes()
        if number is not None:
            opened.schema_at(number)
            changes = [change for change in changes if change.number == number]
        schema = opened.in_force()
    if as_json:
        emit_json(
            {
                "schema_version": "" if schema is None else schema.version,
                "changes": [change_json(change) for change in changes],
            }
        )
    else:
        show_changes(stdout_console(), changes, schema, with_evidence=number is not None)


def rollback(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="See `ytrag schema history`.")],
    kb: KbOption,
    by: ByOption = None,
    why: WhyOption = "",
    as_json: JsonOption = False,
) -> None:
    """Put an earlier version in force again, as a new version; nothing is erased.

    Types that entered since count as rejected from then on: accept them to have them back.
    """
    with open_history(kb, writable=True) as history:
        made = history.rollback(number, who=_who(by), why=why)
        _tell(history, made, as_json=as_json)


def diff(
    older: Annotated[
        str | None,
        typer.Argument(
            metavar="[FROM]", help="A version's number, or a schema.", show_default="the one before"
        ),
    ] = None,
    newer: Annotated[
        str | None,
        typer.Argument(
            metavar="[TO]", help="A version's number, or a schema.", show_default="the one in force"
        ),
    ] = None,
    kb: Annotated[
        Path | None,
        typer.Option(
            "--kb",
            metavar="DIR",
            help="The knowledge base that versions are of.",
            show_default="not needed for two schemas",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what tells two schemas apart: versions of a knowledge base's, bundled ones, or files."""
    from ytrag_core.schema.changes import difference

    one, two = _two_schemas(older, newer, kb)
    found = difference(one, two)
    if as_json:
        emit_json({"from": one.version, "to": two.version, "differences": [each.to_json() for each in found]})
    else:
        show_differences(stdout_console(), found)


def _tell(history: SchemaHistory, made: Sequence[Decision], *, as_json: bool) -> None:
    schema, number = history.in_force(), len(history.changes())
    if as_json:
        emit_json(
            {
                "schema_version": "" if schema is None else schema.version,
                "number": number,
                "decisions": [decision.to_json() for decision in made],
            }
        )
        return
    show_decisions(stdout_console(), made, schema)
    if any(decision.outcome != "reject" for decision in made):
        note("the graph follows with the next ytrag index or import")


def _two_schemas(older: str | None, newer: str | None, kb: Path | None) -> tuple[GraphSchema, GraphSchema]:
    """Return what is to be compared; without a knowledge base that can only be two schemas."""
    from ytrag_core.schema.load import load_schema

    if kb is not None:
        with open_history(kb, writable=False) as history:
            two = _version(history, newer)
            return (_before(history) if older is None else _version(history, older)), two
    if older is None or newer is None or older.isdecimal() or newer.isdecimal():
        raise ConfigError(
            "give --kb DIR for the versions of a knowledge base's schema, or two schemas by name or file"
        )
    return load_schema(older), load_schema(newer)


def _version(history: SchemaHistory, wanted: str | None) -> GraphSchema:
    from ytrag_core.schema.load import load_schema

    if wanted is not None:
        return history.schema_at(int(wanted)) if wanted.isdecimal() else load_schema(wanted)
    known = history.in_force()
    if known is None:
        raise ConfigError("the knowledge base has no graph schema; give --schema when you index into it")
    return known


def _before(history: SchemaHistory) -> GraphSchema:
    """Return the schema before the last change that made it another."""
    known = _version(history, None)
    for change in reversed(history.changes()):
        if change.version != known.version:
            return history.schema_at(change.number)
    return known


def _judge(kb: Path) -> Callable[[GraphSchema, Sequence[Candidate]], list[Verdict]]:
    """Return what judges candidates as a build of this knowledge base in mode auto would."""
    from ytrag_core.environment import load_encoder
    from ytrag_core.pipeline.schema_in_force import type_judge
    from ytrag_core.schema.evolution import evaluate
    from ytrag_core.storage.schema_store import SchemaStore

    with progress_bars() as progress:
        judge = type_judge(load_encoder(progress, kb=kb))
    with SchemaStore.open(kb, writable=False) as store:
        n_documents = store.n_documents()
    settings = _thresholds(kb)
    return lambda schema, found: evaluate(schema, found, settings, judge, n_documents)


def _thresholds(kb: Path) -> EvolutionSettings:
    """Return the thresholds of the last build, the usual ones where it is of an older version."""
    from pydantic import ValidationError

    from ytrag_core.config import EvolutionSettings
    from ytrag_core.storage import layout
    from ytrag_core.storage.snapshot import Snapshot

    if layout.read_current(kb) is None:
        return EvolutionSettings()
    said = Snapshot.open(kb, verify="size").manifest.settings.get("evolution", {})
    try:
        return EvolutionSettings.model_validate(said)
    except ValidationError:
        return EvolutionSettings()


def _verdicts(history: SchemaHistory, kb: Path) -> list[Verdict]:
    schema, pending = history.in_force(), history.pending()
    return _judge(kb)(schema, pending) if schema is not None and pending else []


def _kind(kind: Kind | None) -> TypeKind | None:
    chosen: dict[Kind, TypeKind] = {
        Kind.ENTITY: "entity",
        Kind.RELATION: "relation",
        Kind.ATTRIBUTE: "attribute",
    }
    return None if kind is None else chosen[kind]


def _who(by: str | None) -> str:
    if by is not None and by.strip():
        return " ".join(by.split())
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):
        return "unknown"
