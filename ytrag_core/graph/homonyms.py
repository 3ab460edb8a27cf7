"""Names that plainly mean several things: of types that exclude each other, in places that share nothing."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.graph.kinds import coarse_kind, kinds_conflict
from ytrag_core.graph.named import with_units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.graph.named import Named

__all__ = ["told_apart"]

_LEAST_PASSAGES = 2


def told_apart(named: Named, document: NDArray[np.int32] | None) -> Named:
    """Give a unit of its own to each meaning of a name that plainly has several.

    Parameters
    ----------
    named
        Units that are keys.
    document
        (n_chunks,) document of each chunk; None where each chunk is one.

    Returns
    -------
    Named
        The meaning given most often keeps the key's unit. A name without a type has the meaning of its
        passage, else of its document, else the one given most.

    Notes
    -----
    A second meaning needs a type that excludes the first (a person and a place; not a place and an
    organisation, which is often its government), given in two passages at least where neither is a person,
    and no document and no neighbour in common with it. Two
    persons of one name are one: nothing here tells them from one person in two documents.
    """
    typed = _typed_mentions(named)
    doubtful = {key: kinds for key, kinds in typed.items() if _any_conflict([*kinds])}
    if not doubtful:
        return named
    is_doubtful = np.zeros(named.n_units, bool)
    is_doubtful[[*doubtful]] = True
    neighbours = _neighbours_by_chunk(named, is_doubtful)
    places = document if document is not None else np.arange(_n_chunks(named), dtype=np.int32)
    unit_key, senses = named.unit_key.tolist(), dict(named.senses)
    unit_at: dict[int, dict[int, int]] = {}
    for key in sorted(doubtful):
        kinds = doubtful[key]
        meanings = _meanings(kinds, neighbours.get(key, {}), places)
        if len(meanings) < 2:
            continue
        units = [key, *range(len(unit_key), len(unit_key) + len(meanings) - 1)]
        unit_key += [key] * (len(meanings) - 1)
        senses |= {unit: meaning[0] for unit, meaning in zip(units, meanings, strict=True)}
        unit_at[key] = {
            chunk: unit
            for unit, meaning in zip(units, meanings, strict=True)
            for kind in meaning
            for chunk in kinds[kind]
        }
    if not unit_at:
        return named
    return _reassigned(named, unit_at, np.array(unit_key, np.int32), senses, places)


def _n_chunks(named: Named) -> int:
    chunks = (named.said.mention_chunk, named.triple_chunk, named.other_chunk)
    return 1 + max((int(rows.max()) for rows in chunks if rows.size), default=-1)


def _typed_mentions(named: Named) -> dict[int, dict[str, set[int]]]:
    """Return key -> coarse kind -> chunks, for keys of several kinds."""
    labels = [coarse_kind(label) for label in named.said.labels.distinct.to_pylist()]
    codes = named.said.labels.codes[0]
    names = sorted({label for label in labels if label})
    number = np.array([names.index(label) if label else -1 for label in labels], np.int64)
    if not names:
        return {}
    kind = number[codes]
    kept = (kind >= 0) & (named.mention >= 0)
    units, kinds, chunks = named.mention[kept], kind[kept], named.said.mention_chunk[kept]
    pairs = np.unique(units.astype(np.int64) * len(names) + kinds)
    repeated = np.bincount(pairs // len(names), minlength=named.n_units) > 1
    several = repeated[units]
    found: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    rows = zip(units[several].tolist(), kinds[several].tolist(), chunks[several].tolist(), strict=True)
    for unit, number_of, chunk in rows:
        found[unit][names[number_of]].add(chunk)
    return found


def _any_conflict(kinds: list[str]) -> bool:
    return any(kinds_conflict(a, b) for at, a in enumerate(kinds) for b in kinds[:at])


def _neighbours_by_chunk(named: Named, is_doubtful: NDArray[np.bool_]) -> dict[int, dict[int, set[int]]]:
    found: dict[int, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for ours, others in ((named.head, named.tail), (named.tail, named.head)):
        kept = is_doubtful[ours]
        rows = zip(ours[kept].tolist(), named.triple_chunk[kept].tolist(), others[kept].tolist(), strict=True)
        for unit, chunk, other in rows:
            found[unit][chunk].add(other)
    return found


def _meanings(
    kinds: dict[str, set[int]], neighbours: dict[int, set[int]], places: NDArray[np.int32]
) -> list[list[str]]:
    """Return the kinds of each meaning, the meaning given most first."""
    meanings: list[list[str]] = []
    for kind in sorted(kinds, key=lambda kind: (-len(kinds[kind]), kind)):
        home = next(
            (
                meaning
                for meaning in meanings
                if any(not _are_strangers(kind, other, kinds, neighbours, places) for other in meaning)
            ),
            None,
        )
        if home is None:
            meanings.append([kind])
        else:
            home.append(kind)
    return meanings


def _are_strangers(
    kind: str,
    other: str,
    kinds: dict[str, set[int]],
    neighbours: dict[int, set[int]],
    places: NDArray[np.int32],
) -> bool:
    if not kinds_conflict(kind, other):
        return False
    if "person" not in (kind, other) and min(len(kinds[kind]), len(kinds[other])) < _LEAST_PASSAGES:
        return False
    here, there = ({int(places[chunk]) for chunk in kinds[name]} for name in (kind, other))
    if here & there:
        return False
    ours, theirs = (
        set().union(*(neighbours.get(chunk, set()) for chunk in kinds[name])) for name in (kind, other)
    )
    return not ours & theirs


def _reassigned(
    named: Named,
    unit_at: dict[int, dict[int, int]],
    unit_key: NDArray[np.int32],
    senses: dict[int, str],
    places: NDArray[np.int32],
) -> Named:
    by_document: dict[tuple[int, int], set[int]] = defaultdict(set)
    for key, chunks in unit_at.items():
        for chunk, unit in chunks.items():
            by_document[key, int(places[chunk])].add(unit)
    is_split = np.zeros(named.n_units + 1, bool)  # the last one is for -1
    is_split[[*unit_at]] = True

    def moved(units: NDArray[np.int32], chunks: NDArray[np.int32]) -> NDArray[np.int32]:
        changed = units.copy()
        for row in np.flatnonzero(is_split[units]).tolist():
            key, chunk = int(units[row]), int(chunks[row])
            here = by_document.get((key, int(places[chunk])), set())
            fallback = next(iter(here)) if len(here) == 1 else key
            changed[row] = unit_at[key].get(chunk, fallback)
        return changed

    n_new = len(unit_key) - named.n_units
    return with_units(
        named,
        unit_key=unit_key,
        senses=senses,
        mention=moved(named.mention, named.said.mention_chunk),
        head=moved(named.head, named.triple_chunk),
        tail=moved(named.tail, named.triple_chunk),
        other=moved(named.other, named.other_chunk),
        is_value=np.concatenate([named.is_value, np.zeros(n_new, bool)]),
    )
