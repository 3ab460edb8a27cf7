"""Vectors of unique strings, taken from an earlier build where it had the same strings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import GraphFormatError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

__all__ = ["KnownVectors", "encode_unique", "text_hashes"]

_BLOCK = 65_536
_HASH_BYTES = 16


def text_hashes(texts: Iterable[str]) -> NDArray[np.uint64]:
    """Hash strings to 128 bits.

    Parameters
    ----------
    texts
        Any strings.

    Returns
    -------
    ndarray
        (n_texts, 2) uint64: BLAKE2b of the UTF-8 form, the same on every machine.
    """
    digests = b"".join(
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
        for text in texts
    )
    return np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class KnownVectors:
    """Vectors of strings that are known by their hashes only.

    Attributes
    ----------
    hashes
        (m, 2) uint64, unique rows, ascending by first and then second number.
    vectors
        (m, d) float16, one row for each hash.
    """

    hashes: NDArray[np.uint64]
    vectors: NDArray[np.float16]

    def __post_init__(self) -> None:
        if self.hashes.ndim != 2 or self.hashes.shape[1] != 2 or len(self.hashes) != len(self.vectors):
            raise GraphFormatError(
                f"hashes of shape {self.hashes.shape} beside vectors of shape {self.vectors.shape}; "
                "wanted (m, 2) and (m, d)"
            )
        if (self.hashes[1:, 0] < self.hashes[:-1, 0]).any():
            raise GraphFormatError("hashes of known vectors arrived unsorted; use KnownVectors.from_rows")

    @classmethod
    def from_rows(cls, hashes: NDArray[np.uint64], vectors: NDArray[np.float16]) -> KnownVectors:
        """Make it from rows in any order.

        Parameters
        ----------
        hashes
            (m, 2) uint64, unique rows.
        vectors
            (m, d) float16.

        Returns
        -------
        KnownVectors
            The same rows, sorted.
        """
        order = np.lexsort((hashes[:, 1], hashes[:, 0]))
        return cls(hashes[order], vectors[order])

    def lookup(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each hash.

        Parameters
        ----------
        hashes
            (n, 2) uint64.

        Returns
        -------
        ndarray
            (n,) int64 rows of `vectors`; -1 for an unknown hash.
        """
        if len(self.hashes) == 0:
            return np.full(len(hashes), -1, np.int64)
        # 64 bits tell nearly all strings apart; the few rows that share them are stepped through.
        first, wanted = self.hashes[:, 0], hashes[:, 0]
        rows = np.searchsorted(first, wanted)
        found = np.full(len(hashes), -1, np.int64)
        active = np.flatnonzero(rows < len(first))
        while len(active):
            active = active[first[rows[active]] == wanted[active]]
            same = self.hashes[rows[active], 1] == hashes[active, 1]
            found[active[same]] = rows[active[same]]
            active = active[~same]
            rows[active] += 1
            active = active[rows[active] < len(first)]
        return found


def encode_unique(
    encoder: Encoder,
    texts: Sequence[str],
    *,
    known: KnownVectors | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[np.float16], int, int]:
    """Encode unique strings, reusing the vectors that are known.

    Parameters
    ----------
    encoder
        The encoder; `known` must come from one of the same fingerprint.
    texts
        Unique strings.
    known
        Vectors of an earlier build.
    progress
        Called with (strings that have a vector, all strings).

    Returns
    -------
    vectors
        (n_texts, d) float16 in the order of `texts`; a known row comes back bit for bit.
    n_encoded
        Strings that were encoded now.
    n_reused
        Strings whose vectors were known.

    Raises
    ------
    GraphFormatError
        If the known vectors have another width.
    """
    n = len(texts)
    vectors = np.empty((n, encoder.dimension), np.float16)
    missing = np.arange(n)
    if known is not None and n:
        if known.vectors.shape[1] != encoder.dimension:
            raise GraphFormatError(
                f"known vectors are {known.vectors.shape[1]} wide, the encoder makes {encoder.dimension}: "
                "they come from another encoder"
            )
        missing = _reuse(known, texts, vectors)
    n_reused = n - len(missing)
    if progress is not None:
        progress(n_reused, n)
    for start in range(0, len(missing), _BLOCK):
        rows = missing[start : start + _BLOCK]
        report = _shifted(progress, n_reused + start, n)
        vectors[rows] = encoder.encode([texts[int(row)] for row in rows], progress=report)
    return vectors, len(missing), n_reused


def _reuse(known: KnownVectors, texts: Sequence[str], out_vectors: NDArray[np.float16]) -> NDArray[np.int64]:
    """Fill the rows that are known; return the (n_missing,) int64 others, ascending."""
    missing = []
    for start in range(0, len(texts), _BLOCK):
        found = known.lookup(text_hashes(texts[start : start + _BLOCK]))
        here = np.flatnonzero(found >= 0)
        out_vectors[start + here] = known.vectors[found[here]]
        missing.append(start + np.flatnonzero(found < 0))
    return np.concatenate(missing)


def _shifted(
    progress: Callable[[int, int], None] | None, offset: int, total: int
) -> Callable[[int, int], None] | None:
    if progress is None:
        return None
    report = progress
    return lambda done, _: report(offset + done, total)
