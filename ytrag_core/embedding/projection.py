"""A linear map to fewer dimensions that keeps inner products as well as one can: uncentred PCA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.half_dot import half_to_float

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["fit_projection", "project"]

_SAMPLE_ROWS = 50_000
_BLOCK_ROWS = 2048
_SEED = 0


def fit_projection(
    bits: NDArray[np.uint16], rows: NDArray[np.int32], n_dimensions: int
) -> NDArray[np.float32]:
    """Fit the map on a sample that depends on the number of rows alone.

    Parameters
    ----------
    bits
        (n, d) uint16, float16 rows by their bits.
    rows
        (n_rows,) int32 ids of the rows to fit it on, at least one.
    n_dimensions
        Wanted width, at most d.

    Returns
    -------
    ndarray
        (d, n_dimensions) float32, orthonormal columns, the widest direction first.

    Notes
    -----
    The rows are not centred: queries are compared by inner product, and leading eigenvectors of the second
    moment lose least of it. The sign of a column is fixed by its largest entry.
    """
    d = bits.shape[1]
    if len(rows) > _SAMPLE_ROWS:
        rows = rows[np.sort(np.random.default_rng(_SEED).choice(len(rows), _SAMPLE_ROWS, replace=False))]
    moment = np.zeros((d, d), np.float64)
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = half_to_float(bits[rows[start : start + _BLOCK_ROWS]])
        moment += block.T @ block
    _, vectors = np.linalg.eigh(moment)
    leading = vectors[:, ::-1][:, :n_dimensions]
    signs = np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(n_dimensions)])
    return np.ascontiguousarray(leading * signs, dtype=np.float32)


def project(rows: NDArray[np.float32], projection: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Map rows and bring them back to unit length.

    Parameters
    ----------
    rows
        (n, d) float32.
    projection
        (d, n_dimensions) float32; None keeps the rows' width.

    Returns
    -------
    ndarray
        (n, n_dimensions) float32, unit-norm rows (zero rows stay zero).
    """
    mapped = rows if projection is None else rows @ projection
    norms = np.linalg.norm(mapped, axis=1, keepdims=True)
    unit: NDArray[np.float32] = mapped / np.maximum(norms, np.float32(1e-12))
    return unit
