"""The schema in force of a knowledge base and how it came to be: nothing in its history is ever erased."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ytrag_core.errors import SchemaError, SnapshotError
from ytrag_core.schema.changes import Decision, apply_decisions, new_names
from ytrag_core.schema.model import GraphSchema, TypeKind, type_key
from ytrag_core.schema.proposals import candidates
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.schema_store import ChangeRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ytrag_core.schema.proposals import Candidate
    from ytrag_core.storage.schema_store import SchemaStore

__all__ = ["AUTO", "SchemaHistory"]

AUTO = "auto"
"""Who makes a change that nobody was asked about."""

_BEFORE = "in force when the history begins"
_TRIES = 100


@dataclass(frozen=True, slots=True)
class _State:
    """The changes so far and the schema after them."""

    changes: tuple[ChangeRow, ...]
    schema: GraphSchema | None

    @property
    def number(self) -> int:
        return self.changes[-1].number if self.changes else 0


class SchemaHistory:
    """Reads and changes the schema in force of a knowledge base.

    Several processes may change it at once: each change follows the one it has seen, and is worked out anew
    where another came first.

    Parameters
    ----------
    store
        The knowledge base's store.
    before
        Version of the schema that the live snapshot was built with; in force where there is no change yet,
        empty for none.
    """

    def __init__(self, store: SchemaStore, before: str = "") -> None:
        self._store = store
        self._before = before

    def in_force(self) -> GraphSchema | None:
        """Return the schema in force, None for a knowledge base without one."""
        return self._state().schema

    def changes(self) -> list[ChangeRow]:
        """Return all changes, oldest first; of a schema that never changed, none."""
        return self._store.changes()

    def schema_at(self, number: int) -> GraphSchema:
        """Return the schema after the change of that number.

        Raises
        ------
        SchemaError
            If there is no such change.
        """
        changes = self.changes()
        for change in changes:
            if change.number == number:
                return self._load(change.version)
        known = f"1 to {len(changes)}" if changes else "none: the schema never changed"
        raise SchemaError(f"there is no version {number} of the schema; versions are {known}")

    def of_version(self, version: str) -> GraphSchema | None:
        """Return a schema by its version, None where it is not stored."""
        payload = self._store.schema(version)
        return None if payload is None else self._parsed(payload, version)

    def pending(self) -> list[Candidate]:
        """Return the proposed types about which nothing was decided, the best supported first."""
        return _undecided(self._state(), candidates(self._store.proposals()))

    def rejected(self) -> list[Candidate]:
        """Return the proposed types that were rejected, or went with a rollback, the best supported first."""
        state = self._state()
        refused = _refused(state)
        return [
            candidate
            for candidate in candidates(self._store.proposals())
            if (candidate.kind, candidate.key) in refused and not _is_known(state, candidate)
        ]

    def seeded(self, schema: GraphSchema) -> GraphSchema:
        """Return the schema that is in force once a seed was asked for, changing nothing.

        Parameters
        ----------
        schema
            The seed. Where the schema in force grew out of this very version, that one stays: to name the
            same seed at every build does not undo what was learnt since.
        """
        return _seeded(self._state(), self._before, schema)

    def set_seed(self, schema: GraphSchema, *, who: str, why: str) -> GraphSchema:
        """Put a seed in force, unless the schema in force grew out of it; return the one that then is."""

        def change(state: _State) -> tuple[str, GraphSchema, list[Decision]] | None:
            return ("seed", schema, []) if _seeded(state, self._before, schema) is schema else None

        return self._change(change, who, why) or schema

    def evolve(
        self, decide: Callable[[GraphSchema, Sequence[Candidate]], Sequence[Decision]], *, who: str, why: str
    ) -> list[Decision]:
        """Let what passes into the schema, as one change.

        Parameters
        ----------
        decide
            The schema in force and the undecided types to decisions; called again where another change came
            in between.
        who, why
            For the history.

        Returns
        -------
        list of Decision
            What was decided; empty where nothing changed, which leaves no trace.
        """
        made: list[Decision] = []

        def change(state: _State) -> tuple[str, GraphSchema, list[Decision]] | None:
            made.clear()
            if state.schema is None:
                return None
            made.extend(decide(state.schema, _undecided(state, candidates(self._store.proposals()))))
            return ("evolve", apply_decisions(state.schema, made), made) if made else None

        self._change(change, who, why)
        return made

    def accept(
        self, decide: Callable[[GraphSchema, Sequence[Candidate]], Sequence[Decision]], *, who: str, why: str
    ) -> list[Decision]:
        """Let a person's choice into the schema; also of types that were rejected before.

        Parameters
        ----------
        decide
            The schema in force and all proposed types, decided or not, to decisions.
        who, why
            For the history.

        Raises
        ------
        SchemaError
            If there is no schema, a name is there already, or the target of an alias is not.
        """
        return self._by_hand("accept", decide, who, why)

    def reject(
        self, decide: Callable[[GraphSchema, Sequence[Candidate]], Sequence[Decision]], *, who: str, why: str
    ) -> list[Decision]:
        """Keep proposed types out until someone accepts them; the schema stays as it is.

        Parameters
        ----------
        decide, who, why
            As for `accept`.
        """
        return self._by_hand("reject", decide, who, why)

    def rollback(self, number: int, *, who: str, why: str) -> list[Decision]:
        """Put the schema of an earlier change in force again, as a new change.

        Parameters
        ----------
        number
            The change to go back to.
        who, why
            For the history.

        Returns
        -------
        list of Decision
            The names that go; they count as rejected, or the next build would bring them back.

        Raises
        ------
        SchemaError
            If there is no such change, or its schema is in force anyway.
        """
        older = self.schema_at(number)
        gone: list[Decision] = []

        def change(state: _State) -> tuple[str, GraphSchema, list[Decision]] | None:
            if state.schema is None or state.schema.version == older.version:
                raise SchemaError(f"the schema of version {number} is in force; choose an earlier one")
            gone[:] = [Decision("reject", kind, name) for kind, name in new_names(older, state.schema)]
            return "rollback", older, gone

        self._change(change, who, why or f"back to version {number}")
        return gone

    def _by_hand(
        self,
        action: str,
        decide: Callable[[GraphSchema, Sequence[Candidate]], Sequence[Decision]],
        who: str,
        why: str,
    ) -> list[Decision]:
        made: list[Decision] = []

        def change(state: _State) -> tuple[str, GraphSchema, list[Decision]] | None:
            if state.schema is None:
                raise SchemaError(
                    "the knowledge base has no graph schema to change; give it one with --schema when you "
                    "index or import into it"
                )
            made[:] = decide(state.schema, candidates(self._store.proposals()))
            return (action, apply_decisions(state.schema, made), made) if made else None

        self._change(change, who, why)
        return made

    def _change(
        self,
        change: Callable[[_State], tuple[str, GraphSchema, list[Decision]] | None],
        who: str,
        why: str,
    ) -> GraphSchema | None:
        """Append what `change` makes of the state, and return the schema then in force."""
        for _ in range(_TRIES):
            state = self._state()
            made = change(state)
            if made is None:
                return state.schema
            action, schema, decisions = made
            now = datetime.now(UTC).isoformat(timespec="seconds")
            rows, schemas = [], {schema.version: _content(schema)}
            number = state.number
            if number == 0 and state.schema is not None:
                number += 1
                rows.append(ChangeRow(number, state.schema.version, "seed", AUTO, now, _BEFORE))
                schemas[state.schema.version] = _content(state.schema)
            said = [decision.to_json() for decision in decisions]
            rows.append(ChangeRow(number + 1, schema.version, action, who, now, why, said))
            if self._store.append(rows, schemas):
                return schema
        raise SnapshotError("the schema was changed by others again and again: try once more")

    def _state(self) -> _State:
        changes = tuple(self._store.changes())
        if changes:
            return _State(changes, self._load(changes[-1].version))
        payload = self._store.schema(self._before) if self._before else None
        return _State((), None if payload is None else self._parsed(payload, self._before))

    def _load(self, version: str) -> GraphSchema:
        payload = self._store.schema(version)
        if payload is None:
            path = self._store.database.path
            raise SnapshotError(f"{path}: schema version {version} is missing: {repair_advice(path)}")
        return self._parsed(payload, version)

    def _parsed(self, payload: Mapping[str, Any], version: str) -> GraphSchema:
        try:
            return GraphSchema.model_validate(payload)
        except ValidationError as error:
            path = self._store.database.path
            raise SnapshotError(
                f"{path}: schema version {version} is damaged ({error.errors()[0]['msg']}): "
                f"{repair_advice(path)}"
            ) from error


def _seeded(state: _State, before: str, schema: GraphSchema) -> GraphSchema:
    if state.schema is None:
        return schema
    seeds = [row.version for row in state.changes if row.action == "seed"]
    seed = seeds[-1] if seeds else before
    return state.schema if schema.version in (seed, state.schema.version) else schema


def _content(schema: GraphSchema) -> dict[str, Any]:
    return schema.model_dump(mode="json")


def _refused(state: _State) -> set[tuple[TypeKind, str]]:
    """Return what was rejected last that anything was decided about it."""
    refused: set[tuple[TypeKind, str]] = set()
    for change in state.changes:
        for decision in change.decisions:
            name = decision["kind"], type_key(str(decision["name"]))
            if decision["outcome"] == "reject":
                refused.add(name)
            else:
                refused.discard(name)
    return refused


def _is_known(state: _State, candidate: Candidate) -> bool:
    return state.schema is not None and state.schema.find(candidate.kind, candidate.key) is not None


def _undecided(state: _State, proposed: Sequence[Candidate]) -> list[Candidate]:
    refused = _refused(state)
    return [
        candidate
        for candidate in proposed
        if (candidate.kind, candidate.key) not in refused and not _is_known(state, candidate)
    ]
