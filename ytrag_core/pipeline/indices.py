"""Vector indices of a snapshot, one after the other, each on all cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.embedding.index import EXACT_BELOW, VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["build_indices"]


def build_indices(
    vectors: Mapping[str, NDArray[np.float16]],
    progress: Callable[[int, int], None],
    *,
    exact_below: int = EXACT_BELOW,
) -> dict[str, VectorIndex]:
    """Build an index for each of some sets of vectors.

    Parameters
    ----------
    vectors
        Name -> (n, d) float16 unit-norm rows.
    progress
        Called with (vectors done, vectors of all).
    exact_below
        Fewer rows than this get no graph.

    Returns
    -------
    dict
        Name -> index, the same every time, however many cores there are.
    """
    total = sum(len(rows) for rows in vectors.values())
    indices: dict[str, VectorIndex] = {}
    done = 0
    for name, rows in vectors.items():

        def report(n_done: int, _: int, before: int = done) -> None:
            progress(before + n_done, total)

        indices[name] = VectorIndex.build(rows, exact_below=exact_below, progress=report)
        done += len(rows)
        progress(done, total)
    return indices
