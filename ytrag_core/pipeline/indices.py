"""Vector indices of a snapshot: each built by one thread, several at a time."""

from __future__ import annotations

import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from ytrag_core.embedding.index import EXACT_BELOW, VectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

__all__ = ["build_indices"]

_POLL_SECONDS = 0.2


class _StoppedError(Exception):
    """The build was given up while an index was under way."""


def build_indices(
    vectors: Mapping[str, NDArray[np.float16]],
    progress: Callable[[int, int], None],
    *,
    exact_below: int = EXACT_BELOW,
) -> dict[str, VectorIndex]:
    """Build indices side by side.

    Parameters
    ----------
    vectors
        Name -> (n, d) float16 unit-norm rows.
    progress
        Called in the caller's thread with (vectors added, vectors of all).
    exact_below
        Fewer rows than this get no graph.

    Returns
    -------
    dict
        Name -> index, the same every time, however many cores there are.
    """
    stopped = threading.Event()
    total = sum(len(rows) for rows in vectors.values())
    added = dict.fromkeys(vectors, 0)

    def build(name: str) -> VectorIndex:
        def report(done: int, _: int) -> None:
            added[name] = done
            if stopped.is_set():
                raise _StoppedError

        return VectorIndex.build(vectors[name], exact_below=exact_below, progress=report)

    with ThreadPoolExecutor(max(1, len(vectors)), thread_name_prefix="ytrag-index") as pool:
        futures = {name: pool.submit(build, name) for name in vectors}
        try:
            while wait(futures.values(), _POLL_SECONDS, FIRST_EXCEPTION).not_done:
                progress(sum(added.values()), total)
            return {name: future.result() for name, future in futures.items()}
        finally:
            stopped.set()
