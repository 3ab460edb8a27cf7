"""Names to nodes by hash: every name and alias, found in a question by longest match.

The table is a few sorted arrays that are mapped, not parsed, when a knowledge base is opened: a million names
cost nothing until one is looked up. Names and texts of plain letters are split and hashed by kernels; those
with accents or of other scripts one by one, by the same rules.
"""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ytrag_core.kernels.tokens import distinct_in_rows, hash_texts, span_hashes, split_texts
from ytrag_core.storage.arrays import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = [
    "LEXICON_SPEC",
    "Lexicon",
    "NameMatch",
    "Unit",
    "build_lexicon",
    "name_form",
    "question_units",
    "split_units",
]

LEXICON_SPEC = {
    "form_key": ArraySpec(np.dtype(np.uint64), 1),
    "form_node": ArraySpec(np.dtype(np.int32), 1),
    "max_units": ArraySpec(np.dtype(np.int32), 1, length=1),
    "unit_key": ArraySpec(np.dtype(np.uint64), 1),
    "unit_texts": ArraySpec(np.dtype(np.int32), 1),
    "n_texts": ArraySpec(np.dtype(np.int64), 1, length=1),
}
_QUESTIONS = 64
_MAX_UNITS = 64
_BLOCK = 65_536
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


@lru_cache(_QUESTIONS)
def question_units(question: str) -> tuple[Unit, ...]:
    """Return the units of a question, which is looked through for slips and then for names."""
    return tuple(split_units(question))


def name_form(units: Sequence[Unit]) -> str:
    """Return the form under which a name is looked up: words joined by a space, CJK joined by nothing."""
    parts: list[str] = []
    for position, unit in enumerate(units):
        if position and not (unit.is_cjk and units[position - 1].is_cjk):
            parts.append(" ")
        parts.append(unit.text)
    return "".join(parts)


def _utf8(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return texts side by side in UTF-8, and where each begins; lone surrogates keep a form of their own."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    indptr = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=indptr[1:])
    return np.frombuffer(b"".join(encoded), np.uint8), indptr


def _hashes(texts: Sequence[str]) -> NDArray[np.uint64]:
    return hash_texts(*_utf8(texts))


def build_lexicon(names: Iterable[tuple[int, str]], texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of `LEXICON_SPEC`.

    Parameters
    ----------
    names
        (node, name) pairs; a node may have many names, and a name many nodes.
    texts
        What tells rare words from common ones: the passages, or the distinct names where there are none.
    """
    pairs = list(names)
    nodes = np.fromiter((node for node, _ in pairs), np.int32, len(pairs))
    coded = pa.array([name for _, name in pairs], pa.large_string()).dictionary_encode()
    blocks = [_name_hashes(block) for block in _blocks(coded.dictionary.to_pylist())]
    form_hash = np.concatenate([np.empty(0, np.uint64), *(block[0] for block in blocks)])
    hashes = form_hash[coded.indices.to_numpy()]
    nodes, hashes = nodes[hashes != 0], hashes[hashes != 0]
    order = np.lexsort((nodes, hashes))
    longest = max((block[1] for block in blocks), default=1)
    return {
        "form_key": hashes[order],
        "form_node": nodes[order],
        "max_units": np.array([max(1, min(longest, _MAX_UNITS))], np.int32),
        **_unit_counts(texts),
    }


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(texts)
    while block := list(islice(rest, _BLOCK)):
        yield block


def _name_hashes(names: Sequence[str]) -> tuple[NDArray[np.uint64], int]:
    """Return the hash of each name's form, 0 for names without a word, and the most units of a name."""
    is_plain, form_hash, unit_indptr, _ = split_texts(*_utf8(names))
    longest = int(np.diff(unit_indptr).max(initial=0))
    others = np.flatnonzero(~is_plain)
    units = [split_units(unicodedata.normalize("NFC", names[row])) for row in others.tolist()]
    form_hash[others] = _hashes([name_form(row) for row in units])
    form_hash[others[[not row for row in units]]] = 0
    return form_hash, max([longest, *map(len, units)])


def _unit_counts(texts: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Return in how many texts each unit occurs, by hash ascending, and the number of texts."""
    parts = [np.empty(0, np.uint64)]
    n_texts = 0
    for block in _blocks(texts):
        is_plain, _, unit_indptr, unit_hash = split_texts(*_utf8(block))
        parts.append(distinct_in_rows(unit_hash, unit_indptr))
        parts.extend(
            np.unique(_hashes([unit.text for unit in split_units(block[row])]))
            for row in np.flatnonzero(~is_plain).tolist()
        )
        n_texts += len(block)
    unit_hash, unit_texts = np.unique(np.concatenate(parts), return_counts=True)
    return {
        "unit_key": unit_hash,
        "unit_texts": unit_texts.astype(np.int32),
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
            arrays["form_key"],
            arrays["form_node"],
            int(arrays["max_units"][0]),
            arrays["unit_key"],
            arrays["unit_texts"],
            int(arrays["n_texts"][0]),
        )

    def lookup(self, name: str) -> tuple[int, ...]:
        """Return the nodes of exactly this name, ascending."""
        form = name_form(split_units(unicodedata.normalize("NFC", name)))
        return self._nodes(_hashes([form]))[0] if form else ()

    def rarities(self, names: Sequence[Sequence[str]]) -> list[float]:
        """Return the inverse document frequency of the rarest unit of each name, at least 0."""
        counts = iter(self.n_holding([unit for units in names for unit in units]))
        fewest = [min(islice(counts, len(units)), default=0) for units in names]
        return [math.log(1.0 + self.n_texts / (1.0 + count)) for count in fewest]

    def n_holding(self, units: Sequence[str]) -> list[int]:
        """Return how many texts hold each unit."""
        if not units or not self.unit_hash.shape[0]:
            return [0] * len(units)
        hashes = _hashes(units)
        order = np.argsort(hashes)
        rows = np.empty(len(hashes), np.int64)
        rows[order] = np.searchsorted(self.unit_hash, hashes[order])  # in order, neighbours are in the cache
        rows = np.minimum(rows, self.unit_hash.shape[0] - 1)
        counts: list[int] = np.where(self.unit_hash[rows] == hashes, self.unit_texts[rows], 0).tolist()
        return counts

    def _nodes(self, keys: NDArray[np.uint64]) -> list[tuple[int, ...]]:
        """Return the nodes of each hashed name, ascending."""
        starts, ends = (np.searchsorted(self.form_hash, keys, side).tolist() for side in ("left", "right"))
        return [
            tuple(dict.fromkeys(self.form_node[start:end].tolist()))
            for start, end in zip(starts, ends, strict=True)
        ]

    def match(self, text: str) -> list[NameMatch]:
        """Return the names in `text`: longest first where they overlap, then in order of appearance."""
        units = question_units(text)
        if not units or not self.form_hash.shape[0]:
            return []
        is_han = np.fromiter((unit.is_cjk for unit in units), np.uint8, len(units))
        hashes = span_hashes(*_utf8([unit.text for unit in units]), is_han, min(self.max_units, len(units)))
        rows = np.minimum(np.searchsorted(self.form_hash, hashes), self.form_hash.shape[0] - 1)
        starts, lengths = np.nonzero(self.form_hash[rows] == hashes)
        order = np.lexsort((starts, -lengths))
        starts, lengths = starts[order], lengths[order]
        taken = [False] * len(units)
        matches: list[NameMatch] = []
        ends, nodes_of = (starts + lengths + 1).tolist(), self._nodes(hashes[starts, lengths])
        for start, end, nodes in zip(starts.tolist(), ends, nodes_of, strict=True):
            if any(taken[start:end]):
                continue
            taken[start:end] = [True] * (end - start)
            first, last = units[start].start, units[end - 1].end
            words = tuple(unit.text for unit in units[start:end])
            matches.append(NameMatch(text[first:last], first, last, nodes, words))
        return sorted(matches, key=lambda match: match.start)
