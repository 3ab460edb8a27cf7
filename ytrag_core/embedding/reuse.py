"""Vectors of unique strings, each encoded once: hashes, known rows, and blocks of those that are missing."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.windows import TokenLimit, cut_windows, too_long
from ytrag_core.errors import GraphFormatError, ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

__all__ = ["KnownVectors", "UniqueTexts", "encode_missing", "text_hashes", "token_limit"]

_ROWS = 65_536
_COPIED_ROWS = 2048
"""Their vectors stay in the second-level cache on the way."""

_BLOCK_TOKENS = 65_536
"""About five seconds of work for two cores: what a build that dies loses at the most."""

_TOKEN_CHARACTERS = 4
_HASH_BYTES = 16
_MEAN = "mean of windows\0"


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
        [
            hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
            for text in texts
        ]
    )
    return np.frombuffer(digests, "<u8").reshape(-1, 2).astype(np.uint64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class KnownVectors:
    """Vectors of strings that are known by their hashes only, left where they lie.

    Attributes
    ----------
    hashes
        (m, 2) uint64, unique rows, ascending by first and then second number.
    source, row
        (m,) int32 each: the array of `vectors` that has a hash's vector, and its row there.
    vectors
        Arrays (any, d) float16, possibly memory-mapped.
    """

    hashes: NDArray[np.uint64]
    source: NDArray[np.int32]
    row: NDArray[np.int32]
    vectors: tuple[NDArray[np.float16], ...]

    @classmethod
    def merge(cls, parts: Sequence[tuple[NDArray[np.uint64], NDArray[np.float16]]]) -> KnownVectors:
        """Make it from arrays of rows; none of the vectors is read or copied.

        Parameters
        ----------
        parts
            (n, 2) uint64 hashes and (n, d) float16 vectors beside them, in any order, repeats allowed: the
            first counts.

        Returns
        -------
        KnownVectors
            Sources are numbered as `parts` are.

        Raises
        ------
        GraphFormatError
            If hashes and vectors do not fit each other.
        """
        for hashes, vectors in parts:
            if hashes.ndim != 2 or hashes.shape[1] != 2 or len(hashes) != len(vectors):
                raise GraphFormatError(
                    f"hashes of shape {hashes.shape} beside vectors of shape {vectors.shape}; "
                    "wanted (m, 2) and (m, d)"
                )
        sizes = [len(hashes) for hashes, _ in parts]
        both = np.concatenate([np.empty((0, 2), np.uint64), *(hashes for hashes, _ in parts)])
        order = np.lexsort((both[:, 1], both[:, 0]))
        both = both[order]
        first = np.ones(len(order), bool)
        first[1:] = (both[1:] != both[:-1]).any(axis=1)
        kept = order[first]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        source = (np.searchsorted(starts, kept, side="right") - 1).astype(np.int32)
        row = (kept - starts[source]).astype(np.int32)
        return cls(both[first], source, row, tuple(vectors for _, vectors in parts))

    def __len__(self) -> int:
        return len(self.hashes)

    def lookup(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the position of each hash.

        Parameters
        ----------
        hashes
            (n, 2) uint64.

        Returns
        -------
        ndarray
            (n,) int64 positions in `hashes` of this; -1 for an unknown hash.
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

    def copy_rows(
        self, positions: NDArray[np.int64], out_vectors: NDArray[np.float16], targets: NDArray[np.int64]
    ) -> None:
        """Copy vectors into rows of another array.

        Parameters
        ----------
        positions
            (n,) int64 positions as `lookup` gives them, none negative.
        out_vectors
            (any, d) float16, written to.
        targets
            (n,) int64 rows of `out_vectors`.

        Raises
        ------
        GraphFormatError
            If the vectors have another width.
        """
        for start in range(0, len(positions), _COPIED_ROWS):
            block, rows = positions[start : start + _COPIED_ROWS], targets[start : start + _COPIED_ROWS]
            source = self.source[block]
            for number in np.unique(source).tolist():
                vectors = self.vectors[number]
                if vectors.shape[1] != out_vectors.shape[1]:
                    raise GraphFormatError(
                        f"known vectors are {vectors.shape[1]} wide, the encoder makes "
                        f"{out_vectors.shape[1]}: they come from another encoder"
                    )
                here = source == number
                out_vectors[rows[here]] = np.take(vectors, self.row[block[here]], axis=0)


def token_limit(encoder: Encoder) -> TokenLimit:
    """Return what an encoder takes at once."""
    description = encoder.description
    return TokenLimit(encoder.tokenizer, description.max_tokens, description.passage_prefix)


class UniqueTexts:
    """Unique strings with their hashes.

    A string beyond the encoder's window has the mean of its windows' vectors, of unit length again, and a
    hash of its own kind, so that it is never taken for a vector of its beginning.

    Parameters
    ----------
    texts
        Unique strings.
    limit
        What the encoder takes.

    Attributes
    ----------
    texts
        The strings.
    hashes
        (n_texts, 2) uint64.
    long
        Positions of those that are cut into windows.
    """

    def __init__(self, texts: Sequence[str], limit: TokenLimit) -> None:
        self.texts = texts
        self.hashes = text_hashes(texts)
        positions = too_long(texts, limit)
        if positions:
            self.hashes = self.hashes.copy()
            self.hashes[positions] = text_hashes(_MEAN + texts[position] for position in positions)
        self.long = frozenset(positions)

    def __len__(self) -> int:
        return len(self.texts)


def encode_missing(
    encoder: Encoder,
    texts: UniqueTexts,
    missing: NDArray[np.int64],
    out_vectors: NDArray[np.float16],
    *,
    save: Callable[[NDArray[np.uint64], NDArray[np.float16]], object] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Encode the strings that no known vector is for, block by block.

    Where blocks end depends on the strings alone, so that a build that is taken up again goes on with the
    same blocks, and gives the same bits.

    Parameters
    ----------
    encoder
        The encoder.
    texts
        All strings.
    missing
        (n_missing,) int64, ascending, the positions to encode.
    out_vectors
        (n_texts, d) float16; the rows of `missing` are written.
    save
        Called with hashes and vectors of each block as soon as it is finished.
    progress
        Called with (strings that have a vector, all strings).

    Raises
    ------
    ModelError
        The encoder makes a vector that is not finite; it is not stored.
    """
    n, done = len(texts), len(texts) - len(missing)
    for rows in _blocks(texts, missing):
        report = _shifted(progress, done, len(rows), n)
        vectors = _encode_block(encoder, texts, rows, report)
        odd = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if len(odd):
            raise ModelError(
                f"{encoder.description.name} makes a vector that is not finite of the text "
                f"{texts.texts[int(rows[odd[0]])][:60]!r}: the encoder is damaged, or was exported wrongly; "
                "fetch or export it again"
            )
        out_vectors[rows] = vectors
        if save is not None:
            save(texts.hashes[rows], vectors)
        done += len(rows)


def _blocks(texts: UniqueTexts, missing: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Cut positions into runs of about `_BLOCK_TOKENS` tokens, and of `_ROWS` at the most."""
    positions: list[int] = missing.tolist()
    work = np.fromiter((_tokens(texts.texts[row]) for row in positions), np.int64, len(positions))
    total = np.cumsum(work)
    start = 0
    while start < len(missing):
        before = int(total[start - 1]) if start else 0
        end = int(np.searchsorted(total, before + _BLOCK_TOKENS, side="right"))
        end = min(max(end, start + 1), start + _ROWS)
        yield missing[start:end]
        start = end


def _tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return len(text) // _TOKEN_CHARACTERS + 3 if text.isascii() else len(text) + 3


def _encode_block(
    encoder: Encoder,
    texts: UniqueTexts,
    rows: NDArray[np.int64],
    progress: Callable[[int, int], None] | None,
) -> NDArray[np.float16]:
    positions: list[int] = rows.tolist()
    block = [texts.texts[row] for row in positions]
    if texts.long.isdisjoint(positions):
        return encoder.encode(block, progress=progress).astype(np.float16)
    windows = cut_windows(block, token_limit(encoder))
    vectors = encoder.encode(windows.texts, progress=progress)
    sums = np.add.reduceat(vectors, windows.indptr[:-1], axis=0)
    several = np.diff(windows.indptr) > 1
    norms = np.linalg.norm(sums[several], axis=1, keepdims=True)
    sums[several] /= np.maximum(norms, np.float32(1e-12))
    return sums.astype(np.float16)


def _shifted(
    progress: Callable[[int, int], None] | None, offset: int, n_rows: int, total: int
) -> Callable[[int, int], None] | None:
    """Return progress of one block as progress of all; a block may have more windows than strings."""
    if progress is None:
        return None
    report = progress
    return lambda done, windows: report(offset + done * n_rows // max(windows, 1), total)
