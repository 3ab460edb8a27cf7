"""Strings to integer codes, batch by batch: a row costs four bytes once its batch is gone."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DictionaryEncoder", "EncodedColumns"]

_PENDING_ROWS = 1 << 22
_PENDING_BYTES = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class EncodedColumns:
    """Columns of strings that share one dictionary.

    Attributes
    ----------
    distinct
        (n_distinct,) large strings, each once, in the order in which they arrived.
    codes
        For each column (n_rows,) int32 positions in `distinct`, -1 where the row is null.
    """

    distinct: pa.LargeStringArray
    codes: tuple[NDArray[np.int32], ...]

    def counts(self) -> NDArray[np.int64]:
        """Return how often each distinct string occurs in all columns, (n_distinct,) int64."""
        counts = np.zeros(len(self.distinct), np.int64)
        for codes in self.codes:
            counts += np.bincount(codes[codes >= 0], minlength=len(counts))
        return counts


class DictionaryEncoder:
    """Encodes columns of strings that arrive in batches.

    Parameters
    ----------
    n_columns
        How many columns share the dictionary.

    Notes
    -----
    Batches are kept until there are as many rows as distinct strings so far (at least 2**22), then encoded
    together behind the dictionary, so that no code changes: each row is hashed once, and the dictionary
    a number of times that its growth pays for. Text is held twice at most, that of the distinct strings and
    that of the batches not yet encoded; neither is bounded by 2 GiB.
    """

    def __init__(self, n_columns: int = 1) -> None:
        self._distinct = pa.array([], pa.large_string())
        self._codes: list[list[NDArray[np.int32]]] = [[] for _ in range(n_columns)]
        self._pending: list[tuple[int, pa.Array]] = []
        self._n_rows = 0
        self._n_bytes = 0

    def add(self, values: pa.LargeStringArray, column: int = 0) -> None:
        """Add a batch of rows at the end of a column.

        Parameters
        ----------
        values
            (n,) large strings; a null has no code.
        column
            Position of the column.
        """
        self._pending.append((column, values))
        self._n_rows += len(values)
        self._n_bytes += values.nbytes
        many_rows = self._n_rows >= max(_PENDING_ROWS, len(self._distinct))
        if many_rows or self._n_bytes >= max(_PENDING_BYTES, self._distinct.nbytes):
            self._encode_pending()

    def finish(self) -> EncodedColumns:
        """Return the dictionary and the codes of everything that was added; the encoder is then spent."""
        self._encode_pending()
        empty = np.empty(0, np.int32)
        codes = tuple(np.concatenate(parts) if parts else empty for parts in self._codes)
        self._codes = []
        return EncodedColumns(self._distinct, codes)

    def _encode_pending(self) -> None:
        if self._n_rows:
            values = [self._distinct, *(values for _, values in self._pending)]
            encoded = pa.chunked_array(values, pa.large_string()).dictionary_encode()
            # Arrow leaves out chunks without rows, so the rows are counted, not the chunks.
            codes = np.concatenate([pc.fill_null(chunk.indices, -1) for chunk in encoded.chunks])
            end = len(self._distinct)
            for column, values in self._pending:
                start, end = end, end + len(values)
                self._codes[column].append(codes[start:end].astype(np.int32, copy=False))
            self._distinct = encoded.chunk(encoded.num_chunks - 1).dictionary
        self._pending = []
        self._n_rows = self._n_bytes = 0
