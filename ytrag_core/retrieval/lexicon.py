"""Names to nodes by hash: every name and alias, found in a question by longest match.

The table is two sorted arrays that are mapped, not parsed, when a knowledge base is opened: a million names
cost nothing until one is looked up.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.storage.arrays import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["LEXICON_SPEC", "Lexicon", "NameMatch", "Unit", "build_lexicon", "name_form", "split_units"]

LEXICON_SPEC = {
    "form_hash": ArraySpec(np.dtype(np.uint64), 1),
    "form_node": ArraySpec(np.dtype(np.int32), 1),
    "max_units": ArraySpec(np.dtype(np.int32), 1, length=1),
    "unit_hash": ArraySpec(np.dtype(np.uint64), 1),
    "unit_texts": ArraySpec(np.dtype(np.int32), 1),
    "n_texts": ArraySpec(np.dtype(np.int64), 1, length=1),
}
_MAX_UNITS = 24
_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_UNIT = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+(?:'(?![sS]\b)[^\W_{_CJK}]+)*", re.UNICODE)
_IS_CJK = re.compile(rf"[{_CJK}]")
_APOSTROPHE = str.maketrans("’‘ʼ`", "''''")


@dataclass(frozen=True, slots=True)
class Unit:
    """A word, or one CJK character, with its place in the text."""

    text: str
    start: int
    end: int
    is_cjk: bool


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A stretch of a question that names nodes.

    Attributes
    ----------
    surface
        The stretch as written.
    start, end
        Offsets in characters, end exclusive.
    nodes
        Ascending ids of all nodes of that name.
    units
        The words it is made of, case-folded.
    """

    surface: str
    start: int
    end: int
    nodes: tuple[int, ...]
    units: tuple[str, ...]


def split_units(text: str) -> list[Unit]:
    """Split text into words and single CJK characters; a possessive `'s` is no word."""
    plain = text.translate(_APOSTROPHE)
    units = []
    for match in _UNIT.finditer(plain):
        word = unicodedata.normalize("NFKC", match.group()).casefold()
        if word == "s" and match.start() and plain[match.start() - 1] == "'":
            continue
        units.append(Unit(word, match.start(), match.end(), _IS_CJK.match(word) is not None))
    return units


def name_form(units: Sequence[Unit]) -> str:
    """Return the form under which a name is looked up: words joined by a space, CJK joined by nothing."""
    parts: list[str] = []
    for position, unit in enumerate(units):
        if position and not (unit.is_cjk and units[position - 1].is_cjk):
            parts.append(" ")
        parts.append(unit.text)
    return "".join(parts)


def _hash(form: str) -> int:
    return int.from_bytes(blake2b(form.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def build_lexicon(names: Iterable[tuple[int, str]], texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of `LEXICON_SPEC`.

    Parameters
    ----------
    names
        (node, name) pairs; a node may have many names, and a name many nodes.
    texts
        What tells rare words from common ones: the passages, or the distinct names where there are none.
    """
    hash_of: dict[str, int] = {}
    length = 1
    nodes: list[int] = []
    hashes: list[int] = []
    for node, name in names:
        hashed = hash_of.get(name)
        if hashed is None:
            units = split_units(unicodedata.normalize("NFC", name))
            form = name_form(units)
            hashed = _hash(form) if form else 0
            hash_of[name] = hashed
            length = max(length, min(len(units), _MAX_UNITS))
        if hashed:
            nodes.append(node)
            hashes.append(hashed)
    hash_column = np.array(hashes, np.uint64)
    node_column = np.array(nodes, np.int32)
    order = np.lexsort((node_column, hash_column))
    return {
        "form_hash": hash_column[order],
        "form_node": node_column[order],
        "max_units": np.array([length], np.int32),
        **_unit_counts(texts),
    }


def _unit_counts(texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return in how many texts each unit occurs, by hash ascending, and the number of texts."""
    counts: Counter[str] = Counter()
    n_texts = 0
    for text in texts:
        counts.update({unit.text for unit in split_units(text)})
        n_texts += 1
    unit_hash = np.fromiter(map(_hash, counts), np.uint64, len(counts))
    unit_texts = np.fromiter(counts.values(), np.int32, len(counts))
    order = np.argsort(unit_hash, kind="stable")
    return {
        "unit_hash": unit_hash[order],
        "unit_texts": unit_texts[order],
        "n_texts": np.array([n_texts], np.int64),
    }


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The opened table.

    Attributes
    ----------
    form_hash
        (n_forms,) uint64 ascending.
    form_node
        (n_forms,) int32.
    max_units
        Longest name, in words or CJK characters.
    unit_hash
        (n_units,) uint64 ascending.
    unit_texts
        (n_units,) int32, how many texts hold the unit.
    n_texts
        Number of texts counted.
    """

    form_hash: NDArray[np.uint64]
    form_node: NDArray[np.int32]
    max_units: int
    unit_hash: NDArray[np.uint64]
    unit_texts: NDArray[np.int32]
    n_texts: int

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Lexicon:
        """Open the arrays of `LEXICON_SPEC`."""
        return cls(
            arrays["form_hash"],
            arrays["form_node"],
            int(arrays["max_units"][0]),
            arrays["unit_hash"],
            arrays["unit_texts"],
            int(arrays["n_texts"][0]),
        )

    def lookup(self, name: str) -> tuple[int, ...]:
        """Return the nodes of exactly this name, ascending."""
        form = name_form(split_units(unicodedata.normalize("NFC", name)))
        return self._nodes(np.array([_hash(form)], np.uint64))[0] if form else ()

    def rarity(self, units: Sequence[str]) -> float:
        """Return the inverse document frequency of the rarest unit, at least 0."""
        hashes = np.fromiter(map(_hash, units), np.uint64, len(units))
        rows = np.searchsorted(self.unit_hash, hashes)
        counts = [
            int(self.unit_texts[row])
            if row < self.unit_hash.shape[0] and self.unit_hash[row] == hashed
            else 0
            for row, hashed in zip(rows.tolist(), hashes, strict=True)
        ]
        return math.log(1.0 + self.n_texts / (1.0 + min(counts, default=0)))

    def _nodes(self, hashes: NDArray[np.uint64]) -> list[tuple[int, ...]]:
        low = np.searchsorted(self.form_hash, hashes, side="left")
        high = np.searchsorted(self.form_hash, hashes, side="right")
        return [
            tuple(dict.fromkeys(self.form_node[start:end].tolist())) if end > start else ()
            for start, end in zip(low.tolist(), high.tolist(), strict=True)
        ]

    def match(self, text: str) -> list[NameMatch]:
        """Return the names in `text`: longest first where they overlap, then in order of appearance."""
        units = split_units(text)
        spans = [
            (start, end)
            for start in range(len(units))
            for end in range(start + 1, min(start + self.max_units, len(units)) + 1)
        ]
        forms = [name_form(units[start:end]) for start, end in spans]
        found = self._nodes(np.fromiter(map(_hash, forms), np.uint64, len(forms)))
        hits = [
            (end - start, start, end, nodes)
            for (start, end), nodes in zip(spans, found, strict=True)
            if nodes
        ]
        taken = [False] * len(units)
        matches: list[NameMatch] = []
        for _, start, end, nodes in sorted(hits, key=lambda hit: (-hit[0], hit[1])):
            if any(taken[start:end]):
                continue
            taken[start:end] = [True] * (end - start)
            first, last = units[start].start, units[end - 1].end
            words = tuple(unit.text for unit in units[start:end])
            matches.append(NameMatch(text[first:last], first, last, nodes, words))
        return sorted(matches, key=lambda match: match.start)
