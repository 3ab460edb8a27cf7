"""The entities of a knowledge base as people see and correct them: what was merged, merging, splitting."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ConfigError, QueryError
from ytrag_core.graph.names_in_use import NamesInUse
from ytrag_core.graph.tables import MERGES
from ytrag_core.pipeline.records import known_sources
from ytrag_core.pipeline.sources import rebuild_documents
from ytrag_core.storage.entity_rules import EntityRule, read_entity_rules
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.graph.names_in_use import FoundEntity
    from ytrag_core.pipeline.report import BuildReport, StageRecorder

__all__ = ["EntityChange", "Member", "MergedEntity", "merge_entities", "read_merges", "split_entity"]


@dataclass(frozen=True, slots=True)
class Member:
    """One of the names that were taken for one entity.

    Attributes
    ----------
    name
        The form of it seen most.
    forms
        All its surface forms.
    kind
        `rule`, `alias` or how the name differs from `linked_to`; empty for the one that the entity goes by.
    score
        How sure, in (0, 1].
    evidence
        What spoke for it.
    linked_to
        The member by which it came in.
    chunk_ids
        Passages that name it so.
    triples
        (head, relation, tail) of the graph that are stated of it by this name.
    sense
        The type by which it is told from others of its name; empty as a rule.
    """

    name: str
    forms: tuple[str, ...]
    kind: str
    score: float
    evidence: str
    linked_to: str
    chunk_ids: tuple[str, ...]
    triples: tuple[tuple[str, str, str], ...]
    sense: str = ""


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """An entity that goes by names of several keys.

    Attributes
    ----------
    id
        Its number in the snapshot.
    name
        The name that it goes by.
    members
        First the name that it goes by.
    """

    id: int
    name: str
    members: tuple[Member, ...]

    def to_json(self) -> dict[str, Any]:
        """Return it as `ytrag entities merges --json` shows it."""
        return {
            "id": self.id,
            "name": self.name,
            "members": [
                {
                    "name": member.name,
                    "sense": member.sense,
                    "forms": list(member.forms),
                    "kind": member.kind,
                    "score": round(member.score, 3),
                    "evidence": member.evidence,
                    "linked_to": member.linked_to,
                    "chunk_ids": list(member.chunk_ids),
                    "triples": [list(triple) for triple in member.triples],
                }
                for member in self.members
            ],
        }


@dataclass(frozen=True, slots=True)
class EntityChange:
    """What a merge or a split did.

    Attributes
    ----------
    action
        `merge` or `split`.
    rules
        The decisions that were stored; every later build honours them.
    entities
        What the names mean in the new snapshot: entity -> its members' names.
    report
        Of the build that followed.
    """

    action: str
    rules: tuple[EntityRule, ...]
    entities: dict[str, list[str]]
    report: BuildReport

    def to_json(self) -> dict[str, Any]:
        """Return it as `ytrag entities merge --json` and `split --json` show it."""
        return {
            "action": self.action,
            "rules": [
                {"first": rule.first, "second": rule.second, "together": rule.together} for rule in self.rules
            ],
            "entities": [{"name": name, "members": members} for name, members in self.entities.items()],
            "rebuilt": True,
            **self.report.to_json(),
        }


def read_merges(root: Path, name: str | None = None) -> list[MergedEntity]:
    """Return the entities of the live snapshot that go by names of several keys.

    Parameters
    ----------
    root
        The knowledge base's directory.
    name
        Only the entities that this name means.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged.
    QueryError
        Nothing has this name; the message has the nearest ones.
    """
    snapshot = Snapshot.open(root)
    wanted = None if name is None else {found.node for found in NamesInUse(snapshot).all_of(name)}
    if "merges.parquet" not in snapshot.manifest.files:
        return []
    rows = snapshot.table("merges", MERGES.names).to_pylist()
    rows = [row for row in rows if wanted is None or row["entity"] in wanted]
    if not rows:
        return []
    chunk_ids = snapshot.table("chunks", ["id"]).column("id").take
    triples = _Triples(snapshot, {triple for row in rows for triple in row["triples"]})
    entities: dict[int, list[Member]] = {}
    names: dict[int, str] = {}
    for row in rows:
        names[row["entity"]] = row["name"]
        entities.setdefault(row["entity"], []).append(
            Member(
                name=row["member"],
                forms=tuple(row["forms"]),
                kind=row["kind"],
                score=row["score"],
                evidence=row["evidence"],
                linked_to=row["linked_to"],
                chunk_ids=tuple(chunk_ids(row["chunks"]).to_pylist()) if row["chunks"] else (),
                triples=tuple(map(triples.text, row["triples"])),
                sense=row["sense"],
            )
        )
    return [MergedEntity(node, names[node], tuple(members)) for node, members in entities.items()]


class _Triples:
    """The triples of a snapshot in words."""

    def __init__(self, snapshot: Snapshot, wanted: set[int]) -> None:
        rows = sorted(wanted)
        table = snapshot.table("triples", ["head", "relation", "tail"]).take(rows)
        entities = snapshot.table("entities", ["name"]).column("name")
        values = snapshot.table("attributes", ["value"]).column("value")
        relations = snapshot.table("relations", ["name"]).column("name")
        n_entities = len(entities)

        def node(row: int) -> str:
            return str((entities[row] if row < n_entities else values[row - n_entities]).as_py())

        self._texts = {
            row: (node(triple["head"]), str(relations[triple["relation"]].as_py()), node(triple["tail"]))
            for row, triple in zip(rows, table.to_pylist(), strict=True)
        }

    def text(self, row: int) -> tuple[str, str, str]:
        return self._texts[row]


def merge_entities(
    root: Path, names: Sequence[str], encoder: Encoder, recorder: StageRecorder
) -> EntityChange:
    """Make one entity of several, now and in every later build.

    Parameters
    ----------
    root
        The knowledge base's directory.
    names
        Two or more; one that several entities bear is told by its type, as in `Mercury [planet]`.
    encoder
        That of the knowledge base.
    recorder
        Times the stages of the build that follows.

    Returns
    -------
    EntityChange

    Raises
    ------
    QueryError
        A name means nothing or several things, or all mean one entity already.
    ConfigError
        The knowledge base holds an imported graph.
    SnapshotError
        There is no knowledge base, or it is damaged or cannot be written.
    """
    snapshot = _correctable(root)
    use = NamesInUse(snapshot)
    found = [use.one(name) for name in names]
    if len({entity.node for entity in found}) < 2:
        raise QueryError(
            f"{_listed(names)} mean one entity already, {found[0].name!r}: name two different ones"
        )
    first = found[0]
    rules = [_rule(first.labels[0], other.labels[0], together=True) for other in found[1:]]
    held = {(rule.first, rule.second) for rule in _rules(snapshot) if not rule.together}
    for one, other in combinations(found, 2):
        pairs = (_rule(a, b, together=True) for a, b in product(one.labels, other.labels))
        rules += [rule for rule in pairs if (rule.first, rule.second) in held]
    return _apply("merge", root, rules, found, encoder, recorder)


def split_entity(
    root: Path, name: str, encoder: Encoder, recorder: StageRecorder, form: str | None = None
) -> EntityChange:
    """Take an entity apart, now and in every later build.

    Parameters
    ----------
    root
        The knowledge base's directory.
    name
        Any of its names.
    encoder
        That of the knowledge base.
    recorder
        Times the stages of the build that follows.
    form
        The name that becomes an entity of its own; by default each of its names does.

    Returns
    -------
    EntityChange

    Raises
    ------
    QueryError
        The name means nothing or several things, its entity was not merged from several names, or `form` is
        none of them.
    ConfigError
        The knowledge base holds an imported graph.
    SnapshotError
        There is no knowledge base, or it is damaged or cannot be written.
    """
    snapshot = _correctable(root)
    use = NamesInUse(snapshot)
    entity = use.one(name)
    if len(entity.labels) < 2:
        raise QueryError(
            f"{entity.name!r} goes by one name (forms that differ in case, marks or spaces only are one): "
            "there is nothing to split; `ytrag entities merges` lists what was merged"
        )
    if form is None:
        pairs = list(combinations(entity.labels, 2))
    else:
        label = use.label_in(entity, form)
        pairs = [(label, other) for other in entity.labels if other != label]
    rules = [_rule(first, second, together=False) for first, second in pairs]
    return _apply("split", root, rules, [entity], encoder, recorder)


def _correctable(root: Path) -> Snapshot:
    snapshot = Snapshot.open(root)
    if any(entry.get("format") == "edges" for entry in known_sources(snapshot)):
        raise ConfigError(
            f"{root} holds an imported graph, whose ids are the identity of its nodes: change them in "
            "nodes.parquet and edges.parquet, and import it again with --replace"
        )
    return snapshot


def _rules(snapshot: Snapshot) -> list[EntityRule]:
    with snapshot.open_meta() as meta:
        return read_entity_rules(meta, snapshot.number)


def _rule(first: str, second: str, *, together: bool) -> EntityRule:
    first, second = sorted((first, second))
    return EntityRule(first, second, together)


def _apply(
    action: str,
    root: Path,
    rules: Iterable[EntityRule],
    found: Sequence[FoundEntity],
    encoder: Encoder,
    recorder: StageRecorder,
) -> EntityChange:
    stored = tuple(dict.fromkeys(rules))
    report = rebuild_documents(root, encoder, recorder, stored)
    use = NamesInUse(Snapshot.open(root, verify="size"))
    labels = [label for entity in found for label in entity.labels]
    return EntityChange(action, stored, use.members_of(labels), report)


def _listed(names: Sequence[str]) -> str:
    return " and ".join(repr(name) for name in names)
