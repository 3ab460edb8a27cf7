"""Given identities to rows: which node an id of an edge means."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["IdentityRows"]

_SPARE_SLOTS = 1 << 20


class IdentityRows:
    """Looks up the rows of ids.

    Parameters
    ----------
    ids
        (n,) int64 or large strings, distinct, without nulls.

    Notes
    -----
    Integers that span at most four times as many values as there are of them are found in a table, four bytes
    a value. Others are hashed by Arrow at each call: call it with as many wanted ids as there are ids, or
    more.
    """

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        self._low = 0
        self._table: NDArray[np.int32] | None = None
        if pa.types.is_int64(ids.type) and len(ids):
            values = ids.to_numpy()
            self._low, high = int(values.min()), int(values.max())
            if high - self._low < 4 * len(values) + _SPARE_SLOTS:
                self._table = np.full(high - self._low + 1, -1, np.int32)
                self._table[values - self._low] = np.arange(len(values), dtype=np.int32)

    def rows(self, wanted: pa.ChunkedArray) -> NDArray[np.int32]:
        """Return the row of each wanted id.

        Parameters
        ----------
        wanted
            (m,) int64 or large strings; where one side has integers and the other strings, the integers are
            taken as they are written.

        Returns
        -------
        ndarray
            (m,) int32, -1 where the id is null or unknown.
        """
        ids = self._ids
        if ids.type != wanted.type:
            ids, wanted = ids.cast(pa.large_string()), wanted.cast(pa.large_string())
        elif self._table is not None:
            return self._tabled(self._table, wanted)
        rows: NDArray[np.int32] = pc.fill_null(
            pc.index_in(wanted, value_set=ids, skip_nulls=True), -1
        ).to_numpy()
        return rows.astype(np.int32, copy=False)

    def _tabled(self, table: NDArray[np.int32], wanted: pa.ChunkedArray) -> NDArray[np.int32]:
        known = wanted.is_valid().to_numpy()
        values = pc.fill_null(wanted, self._low).to_numpy()
        # Differences wrap around, so that an id below the lowest one is beyond the table too.
        slots = values.view(np.uint64) - np.uint64(self._low % 2**64)
        known &= slots < len(table)
        return np.where(known, table[np.where(known, slots, 0).astype(np.int64)], np.int32(-1))
