"""Pairs of names worth a look: those that share a core, their ends or all words but one, and similar ones."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np
from rapidfuzz import fuzz

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.embedding.similar import SimilarRows
from ytrag_core.graph.links import pair_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ytrag_core.graph.forms import NameForm
    from ytrag_core.graph.links import Pair

__all__ = ["LARGEST_BLOCK", "candidate_pairs", "similar_pairs"]

LARGEST_BLOCK = 40
"""A word that more names share tells too little: pairs are not looked for among them."""

_LEAST_RATIO = 85
_BLOCK = 8192
_LONGEST_ACRONYM = 6


def candidate_pairs(forms: Mapping[int, NameForm]) -> set[Pair]:
    """Return pairs of units that share what variants of one name share.

    Parameters
    ----------
    forms
        Unit -> its name.

    Returns
    -------
    set of (int, int)
        The lower unit first.

    Notes
    -----
    Linear in the names: a name is in at most three blocks and as many for its words, and a block of more than
    40 gives no pairs but those with its first.
    """
    blocks: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for unit, form in forms.items():
        for block in _blocks(form):
            blocks[block].append(unit)
    pairs: set[Pair] = set()
    for block, units in blocks.items():
        if 1 < len(units) <= LARGEST_BLOCK:
            pairs.update(pair_of(a, b) for at, a in enumerate(units) for b in units[:at] if a != b)
        elif len(units) > LARGEST_BLOCK and block[0] == "core":
            pairs.update(pair_of(units[0], other) for other in units[1:])
    return pairs


def _blocks(form: NameForm) -> Iterable[tuple[str, ...]]:
    words = form.words
    if form.core:
        yield "core", form.core
    if form.is_chinese or not words:
        return
    if len(words) == 1:
        if 3 <= len(words[0]) <= _LONGEST_ACRONYM and form.name == form.name.upper():
            yield "initials", words[0]
        return
    if not form.is_common:
        yield "ends", words[0], words[-1]
        initials = "".join(word[0] for word in words)
        capitals = "".join(word[0] for word in form.name.split() if word[0].isupper()).casefold()
        for letters in {initials, capitals}:
            if 3 <= len(letters) <= _LONGEST_ACRONYM:
                yield "initials", letters
    if "," in form.name or len(words) <= 4:
        yield "order", *sorted(words)
    for at in range(len(words)):
        if len(words[at]) > 5:
            yield "but one", str(at), *words[:at], "", *words[at + 1 :]


def similar_pairs(
    units: Sequence[int],
    forms: Mapping[int, NameForm],
    vectors: NDArray[np.float16],
    progress: Callable[[int, int], None] | None = None,
) -> set[Pair]:
    """Return pairs of units whose vectors are near and whose letters are alike.

    Parameters
    ----------
    units
        The units of the rows.
    forms
        Unit -> its name.
    vectors
        (n, d) float16 unit-norm rows.
    progress
        Called with (rows done, rows).

    Notes
    -----
    Candidates come from a graph of neighbours, so the time grows little faster than the rows.
    """
    n_rows = len(units)
    if n_rows < 2:
        return set()
    near = SimilarRows(VectorIndex.build(vectors))
    keys = [" ".join(forms[unit].words) for unit in units]
    pairs: set[Pair] = set()
    for start in range(0, n_rows, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n_rows))
        found = near.of(rows)
        for row, others in zip(rows.tolist(), found.tolist(), strict=True):
            pairs.update(
                pair_of(units[row], units[other])
                for other in others
                if other >= 0 and fuzz.ratio(keys[row], keys[other], score_cutoff=_LEAST_RATIO)
            )
        if progress is not None:
            progress(int(rows[-1]) + 1, n_rows)
    return pairs
