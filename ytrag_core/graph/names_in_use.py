"""Names to the entities of a snapshot, for people who correct them: exact, or an error with the nearest."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rapidfuzz import fuzz, process

from ytrag_core.errors import QueryError
from ytrag_core.graph.named import label_of
from ytrag_core.graph.normalise import display_form, entity_key
from ytrag_core.graph.tables import MERGES, SENSES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["FoundEntity", "NamesInUse"]

_WITH_TYPE = re.compile(r"(.+?)\s*\[([^\[\]]+)\]\s*$", re.DOTALL)
_N_NEAREST = 5
_LEAST_RATIO = 60


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """An entity, or a value, that a name means.

    Attributes
    ----------
    node
        Its number in the snapshot; values come behind all entities.
    name
        The name that it goes by.
    type
        Its type; may be empty.
    labels
        By what its members are known in rules, first the one that it goes by.
    """

    node: int
    name: str
    type: str
    labels: tuple[str, ...]


class NamesInUse:
    """The names of a snapshot's entities and values.

    Parameters
    ----------
    snapshot
        The snapshot.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        entities = snapshot.table("entities", ["name", "key", "type", "aliases"]).to_pylist()
        values = snapshot.table("attributes", ["value", "key", "aliases"]).to_pylist()
        self._nodes = [(row["name"], row["key"], row["type"]) for row in entities]
        self._nodes += [(row["value"], row["key"], "") for row in values]
        self._by_key: dict[str, dict[int, None]] = defaultdict(dict)
        self._by_alias: dict[str, dict[int, None]] = defaultdict(dict)
        self._labels: dict[int, list[str]] = defaultdict(list)
        for node, (_, key, _) in enumerate(self._nodes):
            self._by_key[key][node] = None
        for node, row in enumerate([*entities, *values]):
            for alias in row["aliases"]:
                self._by_alias[entity_key(alias)][node] = None
        files = snapshot.manifest.files
        merges = snapshot.table("merges", MERGES.names).to_pylist() if "merges.parquet" in files else []
        for row in merges:
            self._by_key[row["key"]][row["entity"]] = None
            self._labels[row["entity"]].append(label_of(row["key"], row["sense"]))
        senses = snapshot.table("senses", SENSES.names).to_pylist() if "senses.parquet" in files else []
        for row in senses:
            if row["entity"] not in self._labels:
                self._labels[row["entity"]].append(label_of(row["key"], row["sense"]))

    def all_of(self, name: str) -> list[FoundEntity]:
        """Return what a name means, several things for homonyms.

        Parameters
        ----------
        name
            A name or an alias, in any form of it; behind it may stand a type in square brackets.

        Raises
        ------
        QueryError
            It means nothing.
        """
        nodes = self._meant(name, "")
        typed = _WITH_TYPE.match(name)
        if not nodes and typed is not None:
            nodes = self._meant(typed[1], typed[2])
        if not nodes:
            shown = ", ".join(map(repr, self._nearest(name)))
            nearest = f"the nearest are {shown}" if shown else "nothing is like it"
            raise QueryError(f"no entity is called {display_form(name)!r}; {nearest}")
        return [self._found(node) for node in nodes]

    def one(self, name: str) -> FoundEntity:
        """Return the one entity that a name means.

        Raises
        ------
        QueryError
            It means nothing, or several things.
        """
        found = self.all_of(name)
        if len(found) > 1:
            shown = ", ".join(f"{entity.name} [{entity.type or 'no type'}]" for entity in found)
            raise QueryError(f"{display_form(name)!r} means {len(found)} entities: give one of {shown}")
        return found[0]

    def label_in(self, entity: FoundEntity, form: str) -> str:
        """Return the label of the member of an entity that a form belongs to.

        Raises
        ------
        QueryError
            It belongs to none of them.
        """
        key = entity_key(form)
        of_key = [label for label in entity.labels if label.partition("\t")[0] == key]
        if not of_key:
            members = ", ".join(repr(label.partition("\t")[0]) for label in entity.labels)
            raise QueryError(
                f"{display_form(form)!r} is none of the names that {entity.name!r} was merged from: {members}"
            )
        return of_key[0]

    def members_of(self, labels: Iterable[str]) -> dict[str, list[str]]:
        """Return what some labels mean: entity -> its members' keys."""
        wanted = {label.partition("\t")[0] for label in labels}
        nodes = sorted({node for key in wanted for node in self._by_key.get(key, ())})
        found = [self._found(node) for node in nodes]
        return {
            f"{entity.name} [{entity.type}]"
            if len(self._by_key[self._nodes[entity.node][1]]) > 1
            else entity.name: [label.partition("\t")[0] for label in entity.labels]
            for entity in found
        }

    def _meant(self, name: str, type_name: str) -> list[int]:
        key = entity_key(name)
        nodes = [*(self._by_key.get(key) or self._by_alias.get(key) or ())]
        if type_name:
            nodes = [node for node in nodes if self._nodes[node][2].casefold() == type_name.casefold()]
        return nodes

    def _found(self, node: int) -> FoundEntity:
        name, key, type_name = self._nodes[node]
        return FoundEntity(node, name, type_name, tuple(self._labels.get(node) or [key]))

    def _nearest(self, name: str) -> list[str]:
        keys = [*self._by_key]
        best = process.extract(
            entity_key(name), keys, scorer=fuzz.ratio, limit=_N_NEAREST, score_cutoff=_LEAST_RATIO
        )
        return list(dict.fromkeys(self._nodes[next(iter(self._by_key[key]))][0] for key, _, _ in best))
