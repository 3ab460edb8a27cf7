"""Threads over fixed blocks of work, so that results do not depend on how many there are."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ytrag_core.config import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["SERIAL", "Workers", "blocks", "open_workers"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class Workers:
    """Maps a function over items on a pool of threads, or on the caller's thread without one.

    Parameters
    ----------
    pool : ThreadPoolExecutor or None
    """

    def __init__(self, pool: ThreadPoolExecutor | None = None) -> None:
        self._pool = pool

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the results in the items' order."""
        return map(function, items) if self._pool is None else self._pool.map(function, items)


SERIAL = Workers()


@contextmanager
def open_workers(n_threads: int | None = None) -> Iterator[Workers]:
    """Open a pool of `n_threads` threads (None: one a core), each with a single-threaded BLAS.

    BLAS may round differently when it splits a product over threads; our blocks are the same for any number.
    """
    n_threads = n_threads or available_cores()
    with threadpool_limits(limits=1, user_api="blas"):
        if n_threads == 1:
            yield SERIAL
            return
        with ThreadPoolExecutor(n_threads, thread_name_prefix="ytrag-worker") as pool:
            yield Workers(pool)


def blocks(n: int, size: int) -> list[slice]:
    """Cut ``0 ... n`` into consecutive slices of `size`, the last one shorter."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
