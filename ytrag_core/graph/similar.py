"""Links between names that are written alike and fit together: types, neighbours and vectors are evidence."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.extraction.words import CANONICAL
from ytrag_core.graph.candidates import candidate_pairs, similar_pairs
from ytrag_core.graph.forms import name_form
from ytrag_core.graph.kinds import kinds_conflict
from ytrag_core.graph.links import Link, pair_of
from ytrag_core.graph.named import Surroundings
from ytrag_core.graph.stated import SAYS_SO
from ytrag_core.graph.variants import CLASSES, Variant, find_variant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from ytrag_core.graph.forms import NameForm
    from ytrag_core.graph.links import Pair
    from ytrag_core.graph.named import Named

__all__ = ["LEAST_SCORE", "similar_links"]

LEAST_SCORE = 0.85
"""Surer pairs are linked."""

_KNOWN = 0.95
_PER_NEIGHBOUR, _MOST_BY_NEIGHBOURS = 0.1, 0.2
_OTHERWISE_RELATED = -0.15
_BY_PASSAGE = _BY_TYPE = _BY_VECTOR = 0.05
_MIDDLE_BY_PASSAGE = 0.1
_AMBIGUOUS = frozenset({"middle", "area", "acronym", "title", "company"})
_BY_WRITING = frozenset({"spelling", "article", "known"})
_EXCLUDED = {"middle": frozenset({"body", "place", "event"}), "company": frozenset({"place", "person"})}
_IS = frozenset({"is", "was", "are", "named", "是", "即"}) | SAYS_SO


def similar_links(
    named: Named,
    encode: Callable[[list[str]], NDArray[np.float16] | None] | None,
    similarity: float,
) -> list[Link]:
    """Return links between units whose names are variants of one name.

    Parameters
    ----------
    named
        All units; values are left alone.
    encode
        Returns the (n, d) float16 unit-norm vectors of names, or None to do without.
    similarity
        Cosine from which vectors speak for a pair.

    Notes
    -----
    The score of a pair is how sure the difference between the names is by itself; 0.1 for each neighbour that
    both have (less for one that many have; at most 0.2); and 0.05 each for a passage that names both, for one
    known type and for a high cosine (a passage counts twice and the cosine nothing where only middle names
    differ: their cosine is high for any two). A pair whose common neighbours are all related to the two in
    different ways loses 0.15, and one that a triple links ("John Taylor, grandfather of John H. Taylor") is
    none. A bare name that fits several fuller ones ("George Bush") goes with none of them.
    """
    units = np.flatnonzero(~named.is_value)
    names, keys = named.names(units), named.keys(units)
    kinds = named.kinds
    forms = {
        unit: name_form(name, kinds.get(unit, ""), key)
        for unit, name, key in zip(units.tolist(), names, keys, strict=True)
    }
    pairs = candidate_pairs(forms)
    vectors: NDArray[np.float16] | None = None
    if encode is not None:
        vectors = encode(names)
    if vectors is not None:
        pairs |= similar_pairs(units.tolist(), forms, vectors)
    variants = _known(forms)
    for pair in sorted(pairs - variants.keys()):
        variant = _variant(pair, forms, kinds)
        if variant is not None:
            variants[pair] = variant
    variants = _unambiguous(variants, forms)
    return _Evidence(named, variants, units, vectors, similarity).links(variants)


def _known(forms: Mapping[int, NameForm]) -> dict[Pair, Variant]:
    """Return the pairs that a closed list of a few countries, cities and wars knows to be one."""
    unit_of = {form.name: unit for unit, form in forms.items()}
    return {
        pair_of(unit_of[surface], unit_of[name]): Variant("known", _KNOWN)
        for surface, name in CANONICAL.items()
        if surface in unit_of and name in unit_of
    }


def _variant(pair: Pair, forms: Mapping[int, NameForm], kinds: Mapping[int, str]) -> Variant | None:
    first, second = (kinds.get(unit, "") for unit in pair)
    if kinds_conflict(first, second):
        return None
    variant = find_variant(forms[pair[0]], forms[pair[1]], are_persons="person" in (first, second))
    excluded = _EXCLUDED.get(variant.kind, frozenset()) if variant is not None else frozenset()
    return None if {first, second} & excluded else variant


def _unambiguous(variants: dict[Pair, Variant], forms: Mapping[int, NameForm]) -> dict[Pair, Variant]:
    """Leave out the pairs of a bare name that has fuller ones which are not variants of each other."""

    def bare(pair: Pair) -> int:
        return min(pair, key=lambda unit: len(forms[unit].name))

    fuller: dict[tuple[str, int], list[int]] = defaultdict(list)
    for pair, variant in variants.items():
        if variant.kind in _AMBIGUOUS:
            fuller[variant.kind, bare(pair)].append(pair[0] if bare(pair) == pair[1] else pair[1])
    torn = {
        of
        for of, units in fuller.items()
        if any(pair_of(a, b) not in variants for at, a in enumerate(units) for b in units[:at])
    }
    return {pair: variant for pair, variant in variants.items() if (variant.kind, bare(pair)) not in torn}


class _Evidence:
    """Scores pairs by what is known of both."""

    def __init__(
        self,
        named: Named,
        variants: Mapping[Pair, Variant],
        units: NDArray[np.int64],
        vectors: NDArray[np.float16] | None,
        similarity: float,
    ) -> None:
        self._named = named
        self._around = Surroundings(named, np.unique(np.array([*variants], np.int64).reshape(-1)))
        self._row = np.full(named.n_units, -1, np.int64)
        self._row[units] = np.arange(len(units))
        self._vectors = vectors
        self._similarity = similarity
        self._scale = math.log(2 + len(named.head))
        self._is = {row for row, key in enumerate(named.relation_keys.to_pylist()) if key in _IS}

    def links(self, variants: Mapping[Pair, Variant]) -> list[Link]:
        """Return the pairs that are sure enough."""
        return [link for pair, variant in variants.items() if (link := self._link(pair, variant)) is not None]

    def _link(self, pair: Pair, variant: Variant) -> Link | None:
        edges = self._around.edges(pair[0]), self._around.edges(pair[1])
        if variant.kind not in _BY_WRITING and self._are_related(edges[0], pair[1]):
            return None
        score, said = variant.base, [CLASSES[variant.kind]]
        for bonus, text in (
            self._by_neighbours(edges, pair, variant),
            self._by_passage(pair, variant),
            self._by_type(pair),
            self._by_vector(pair) if variant.kind != "middle" else (0.0, ""),
        ):
            score += bonus
            said += [text] if text else []
        score = min(round(score, 3), 0.99)
        return Link(*pair, variant.kind, score, "; ".join(said)) if score >= LEAST_SCORE else None

    def _are_related(self, edges: set[tuple[int, int]], other: int) -> bool:
        return any(
            unit == other and (relation if relation >= 0 else -1 - relation) not in self._is
            for unit, relation in edges
        )

    def _by_neighbours(
        self, edges: tuple[set[tuple[int, int]], set[tuple[int, int]]], pair: Pair, variant: Variant
    ) -> tuple[float, str]:
        shared = ({unit for unit, _ in edges[0]} & {unit for unit, _ in edges[1]}) - {*pair}
        if not shared:
            return 0.0, ""
        if variant.kind not in _BY_WRITING and not edges[0] & edges[1]:
            return _OTHERWISE_RELATED, "both with one neighbour, but in different ways"
        degree = self._around.degree
        worth = sum(1 - math.log(1 + int(degree[unit])) / self._scale for unit in sorted(shared))
        names = self._named.names(np.array(sorted(shared)[:3], np.int64))
        more = f" and {len(shared) - 3} more" if len(shared) > 3 else ""
        return min(_PER_NEIGHBOUR * worth, _MOST_BY_NEIGHBOURS), f"both with {', '.join(names)}{more}"

    def _by_passage(self, pair: Pair, variant: Variant) -> tuple[float, str]:
        together = self._around.chunks(pair[0]) & self._around.chunks(pair[1])
        bonus = _MIDDLE_BY_PASSAGE if variant.kind == "middle" else _BY_PASSAGE
        return (bonus, "named in one passage") if together else (0.0, "")

    def _by_type(self, pair: Pair) -> tuple[float, str]:
        first, second = (self._named.kinds.get(unit, "") for unit in pair)
        return (_BY_TYPE, f"both {first}") if first and first == second else (0.0, "")

    def _by_vector(self, pair: Pair) -> tuple[float, str]:
        if self._vectors is None:
            return 0.0, ""
        first, second = (self._vectors[self._row[unit]].astype(np.float32) for unit in pair)
        cosine = float(first @ second)
        return (_BY_VECTOR, f"cosine {cosine:.2f}") if cosine >= self._similarity else (0.0, "")
