"""The graph schema of a build: which one bounds the extraction, and what enters it when that is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.schema.evolution import TypeJudge, decisions_of, evaluate
from ytrag_core.schema.history import AUTO, SchemaHistory
from ytrag_core.schema.load import load_schema
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.config import EvolutionSettings
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.schema.changes import Decision
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.schema.proposals import Candidate
    from ytrag_core.storage.snapshot import SnapshotWriter

__all__ = ["schema_for_build", "schema_of_snapshot", "settle_schema", "type_judge"]

_USER = "user"
_MOST_NAMED = 5


def schema_for_build(
    writer: SnapshotWriter, asked: str | Path | None, default: str | None = None
) -> GraphSchema | None:
    """Return the schema that bounds a build's extraction; nothing is written.

    Parameters
    ----------
    writer
        The open writer.
    asked
        Name or file of a schema; None for the one in force.
    default
        What a knowledge base without a schema gets; None for none.

    Raises
    ------
    SchemaError
        If there is no such schema, or it is malformed.
    """
    history = _history(writer)
    if asked is not None:
        return history.seeded(load_schema(asked))
    known = history.in_force()
    if known is not None or _knows_another(writer) or default is None:
        return known
    return load_schema(default)


def schema_of_snapshot(writer: SnapshotWriter) -> GraphSchema | None:
    """Return the schema that the live snapshot was built with; the one in force where it is not stored."""
    history = _history(writer)
    version = "" if writer.previous is None else writer.previous.manifest.schema_version
    if not version:
        return None
    return history.of_version(version) or history.in_force()


def settle_schema(
    writer: SnapshotWriter,
    schema: GraphSchema | None,
    asked: str | Path | None,
    encoder: Encoder,
    settings: EvolutionSettings,
) -> tuple[GraphSchema | None, list[str]]:
    """Put a build's schema in force, let in what passes, and return what then is in force.

    This is the one moment at which a schema changes by itself: all that this build's extraction and others
    proposed until now is judged together, in an order of its own.

    Parameters
    ----------
    writer
        The open writer; its documents and chunks are those of the snapshot to come.
    schema
        What `schema_for_build` returned.
    asked
        What it was asked for.
    encoder
        Tells names apart.
    settings
        Mode and thresholds.

    Returns
    -------
    (GraphSchema or None, list of str)
        The schema, and what its user should know.
    """
    history = _history(writer)
    if schema is None:
        return None, []
    if asked is not None or history.in_force() is None:
        why = f"asked for: {asked}" if asked is not None else "the schema of a first build without --schema"
        history.set_seed(schema, who=_USER if asked is not None else AUTO, why=why)
    notes: list[str] = []
    if settings.mode == "auto":
        judge, n_documents = type_judge(encoder), SchemaStore(writer.meta.database).n_documents()

        def decide(known: GraphSchema, proposed: Sequence[Candidate]) -> list[Decision]:
            return decisions_of(evaluate(known, proposed, settings, judge, n_documents))

        why = (
            f"confidence from {settings.min_confidence:g}, passages from {settings.min_chunks}, "
            f"documents from {settings.min_documents}"
        )
        made = history.evolve(decide, who=AUTO, why=why)
        notes += _told(made)
    return history.in_force(), notes


def type_judge(encoder: Encoder) -> TypeJudge:
    """Return an encoder as far as types are told apart by it."""
    description = encoder.description
    return TypeJudge(encoder.encode, description.alias_similarity, description.language)


def _history(writer: SnapshotWriter) -> SchemaHistory:
    before = "" if writer.previous is None else writer.previous.manifest.schema_version
    return SchemaHistory(SchemaStore(writer.meta.database), before)


def _knows_another(writer: SnapshotWriter) -> bool:
    """Tell whether the live snapshot was built with a schema that is not stored any more."""
    return writer.previous is not None and bool(writer.previous.manifest.schema_version)


def _told(made: Sequence[Decision]) -> list[str]:
    notes = []
    for outcome, said in (("add", "entered the schema"), ("alias", "became other names of its types")):
        names = [decision.name for decision in made if decision.outcome == outcome]
        if names:
            more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            notes.append(
                f"proposed types that {said} ({len(names)}): {', '.join(names[:_MOST_NAMED])}{more}; "
                "see ytrag schema history"
            )
    return notes
