"""Links that the text itself states: aliases of mentions, and triples that say that one is also called so."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from ytrag_core.graph.forms import name_words
from ytrag_core.graph.keys import entity_keys
from ytrag_core.graph.kinds import kinds_conflict
from ytrag_core.graph.links import Link, pair_of
from ytrag_core.graph.named import Surroundings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ytrag_core.graph.links import Pair
    from ytrag_core.graph.named import Named

__all__ = ["SAYS_SO", "stated_links"]

SAYS_SO = frozenset(
    {
        *("also known as", "is also known as", "was also known as", "also called", "is also called"),
        *("was also called", "abbreviated as", "is abbreviated as", "abbreviated to", "abbreviation"),
        *("has abbreviation", "stands for", "acronym for", "acronym", "short for", "officially known as"),
        *("is officially known as", "commonly known as", "is commonly known as", "formerly known as"),
        *("previously known as", "now known as", "later known as", "originally known as"),
        *("was originally known as", "now called", "formerly called", "alias", "aka", "a.k.a"),
        *("another name for", "full name", "birth name", "native name"),
        *(
            "又名",
            "亦名",
            "又称",
            "也称",
            "亦称",
            "简称",
            "全称",
            "别名",
            "别称",
            "原名",
            "本名",
            "曾用名",
            "字",
            "号",
        ),
        *("即", "英文名", "中文名", "俗称", "旧称", "化名", "笔名"),
    }
)
"""Keys of relations that give a thing another name."""

_STATED = 0.95
_LIGHT = frozenset({"of", "the", "and", "for", "in", "on", "a", "an", "de", "la"})
_HAN = re.compile(r"[\u3400-\u9fff]")
_SHARE = 0.75
_MOST_ALIASES = 4


def stated_links(named: Named) -> list[Link]:
    """Return the links that the text states between units that are both named elsewhere too.

    Parameters
    ----------
    named
        All units.

    Notes
    -----
    An alias is passed over that is stated of several things; that is one word of the whole name ("Ibsen") or
    a part of a Chinese one, unless it is named where the whole name is and nowhere else; that is the name
    without what tells it from others in brackets; or that is of another kind.
    """
    support: dict[int, dict[int, set[int]]] = {}
    for alias, owner, chunk in _claims(named):
        support.setdefault(alias, {}).setdefault(owner, set()).add(chunk)
    if not support:
        return []
    n_aliases = Counter(owner for owners in support.values() for owner in owners)
    units = np.unique(np.array([*support, *n_aliases], np.int64))
    around = Surroundings(named, units)
    key = dict(zip(units.tolist(), named.keys(units), strict=True))
    links: dict[Pair, Link] = {}
    for alias in sorted(support):
        owners = support[alias]
        owner = min(owners, key=lambda unit: (-len(owners[unit]), unit))
        n_passages = len(owners[owner])
        if n_passages < _SHARE * sum(map(len, owners.values())) or n_aliases[owner] > _MOST_ALIASES:
            continue
        if kinds_conflict(named.kinds.get(alias, ""), named.kinds.get(owner, "")):
            continue
        if not _may_mean(key[alias], key[owner]):
            continue
        if not _stands_alone(key[alias], key[owner]) and not around.chunks(alias) <= around.chunks(owner):
            continue
        evidence = f"stated in {n_passages} passage{'s' if n_passages > 1 else ''}"
        links.setdefault(pair_of(alias, owner), Link(*pair_of(alias, owner), "alias", _STATED, evidence))
    return list(links.values())


def _claims(named: Named) -> Iterator[tuple[int, int, int]]:
    """Yield (alias, owner, chunk), units and the chunk that states it."""
    said = named.said
    if len(said.alias_mention):
        keys = entity_keys(said.aliases.distinct)
        found = pc.fill_null(pc.index_in(keys, value_set=named.nodes.keys), -1).to_numpy()
        alias = found[said.aliases.codes[0]]
        owner = named.mention[said.alias_mention]
        kept = (alias >= 0) & (owner >= 0) & (alias != named.unit_key[owner])
        chunk = said.mention_chunk[said.alias_mention]
        yield from zip(alias[kept].tolist(), owner[kept].tolist(), chunk[kept].tolist(), strict=True)
    says_so = np.array([key in SAYS_SO for key in named.relation_keys.to_pylist()], bool)
    if says_so.any():
        kept = says_so[named.relation] & ~named.is_value[named.head] & ~named.is_value[named.tail]
        kept &= named.head != named.tail
        head, tail = named.head[kept].astype(np.int64), named.tail[kept].astype(np.int64)
        rows = zip(head.tolist(), tail.tolist(), named.triple_chunk[kept].tolist(), strict=True)
        for row, name, other in zip(rows, named.keys(head), named.keys(tail), strict=True):
            if _resemble(name, other):
                yield row[1], row[0], row[2]


def _resemble(name: str, other: str) -> bool:
    """Tell whether two names share a word, a Chinese character or initials.

    What a triple calls another name of its head is often a thing that the head is linked to, where rules or a
    small model made the triple.
    """
    words = set(name_words(name)), set(name_words(other))
    if (words[0] & words[1]) - _LIGHT:
        return True
    if _HAN.search(name) and _HAN.search(other):
        return bool(set(_HAN.findall(name)) & set(_HAN.findall(other)))
    short, long = sorted((name_words(name), name_words(other)), key=len)
    return len(short) == 1 < len(long) and short[0][0] == long[0][0] and set(short[0]) <= set("".join(long))


def _may_mean(alias: str, owner: str) -> bool:
    """Leave out what is no name, and names without what tells them from others: `Mercury (planet)`."""
    bare = alias.partition("(")[0].strip(), owner.partition("(")[0].strip()
    return sum(map(len, name_words(alias))) > 1 and (alias == bare[0]) == (owner == bare[1])


def _stands_alone(alias: str, owner: str) -> bool:
    """Tell whether an alias means its owner wherever it stands."""
    short, long = sorted((name_words(alias), name_words(owner)), key=len)
    if _HAN.search(alias + owner):
        return alias not in owner and owner not in alias
    return len(short) > 1 or not set(short) & set(long)
