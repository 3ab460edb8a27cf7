"""What a person decided about entities, in a table of `meta.sqlite` of its own: which are one, which are not.

A rule is about two labels. It belongs to the snapshot that first honours it: if the build of that one dies,
the rule is gone like the documents of that build. Of several rules about two labels the last one holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ytrag_core.storage.meta import MetaStore

__all__ = ["TABLE", "EntityRule", "forget_unfinished_rules", "put_entity_rules", "read_entity_rules"]

TABLE = (
    "CREATE TABLE IF NOT EXISTS entity_rules(number INTEGER PRIMARY KEY, added INTEGER NOT NULL,"
    " first TEXT NOT NULL, second TEXT NOT NULL, together INTEGER NOT NULL)"
)


@dataclass(frozen=True, slots=True)
class EntityRule:
    """One decision.

    Attributes
    ----------
    first, second
        Labels of two entities, in ascending order.
    together
        True: they are one. False: they are two, whatever else speaks for one.
    """

    first: str
    second: str
    together: bool


def put_entity_rules(meta: MetaStore, rules: Iterable[EntityRule], snapshot: int) -> None:
    """Store rules for the snapshot to come.

    Parameters
    ----------
    meta
        A store that is open for writing.
    rules
        In the order in which they were decided.
    snapshot
        Number of the snapshot that first honours them.
    """
    values = [(snapshot, rule.first, rule.second, int(rule.together)) for rule in rules]
    with meta.database.transaction() as connection:
        connection.execute(TABLE)
        connection.executemany(
            "INSERT INTO entity_rules(added, first, second, together) VALUES(?, ?, ?, ?)", values
        )


def forget_unfinished_rules(meta: MetaStore, live: int) -> None:
    """Remove the rules of a snapshot that never came; only the holder of the lock may.

    Parameters
    ----------
    meta
        A store that is open for writing.
    live
        Number of the live snapshot, 0 where there is none.
    """
    if _exists(meta):
        with meta.database.transaction() as connection:
            connection.execute("DELETE FROM entity_rules WHERE added > ?", (live,))


def read_entity_rules(meta: MetaStore, snapshot: int) -> list[EntityRule]:
    """Return the rules that hold, one for each pair, in the order in which they were decided.

    Parameters
    ----------
    meta
        The store.
    snapshot
        Rules of later snapshots are left out.
    """
    if not _exists(meta):
        return []
    rows = meta.database.rows(
        "SELECT first, second, together FROM entity_rules WHERE number IN"
        " (SELECT max(number) FROM entity_rules WHERE added <= ? GROUP BY first, second) ORDER BY number",
        (snapshot,),
    )
    return [EntityRule(first, second, bool(together)) for first, second, together in rows]


def _exists(meta: MetaStore) -> bool:
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entity_rules'"
    return bool(meta.database.rows(found))
