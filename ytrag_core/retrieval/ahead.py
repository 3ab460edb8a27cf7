"""Items prepared on another core while earlier ones are finished."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

__all__ = ["prepared_ahead"]

T = TypeVar("T")


def prepared_ahead(
    items: Iterator[T], prepare: Callable[[T], None], n_ahead: int
) -> Generator[T, None, None]:
    """Yield items that have been prepared, in order.

    A thread of its own prepares them one by one. Where it has not come to one that is needed, the caller's
    thread prepares that one, and others while it would have to wait, so that both have something to do.

    Parameters
    ----------
    items
        Taken from in the caller's thread, at most `n_ahead` of them before they are needed.
    prepare
        Called once with each item, from either thread.
    n_ahead
        At least 1.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="ytrag-ahead")
    coming: deque[tuple[T, Future[None]]] = deque()

    def take(n: int) -> None:
        coming.extend((item, pool.submit(prepare, item)) for item in islice(items, n))

    try:
        take(n_ahead)
        while coming:
            item, preparing = coming.popleft()
            take(1)
            while not preparing.done():
                if preparing.cancel():
                    prepare(item)
                    break
                if not _prepare_another(coming, prepare):
                    preparing.result()
            if not preparing.cancelled():
                preparing.result()
            yield item
    finally:
        pool.shutdown(cancel_futures=True)


def _prepare_another(coming: deque[tuple[T, Future[None]]], prepare: Callable[[T], None]) -> bool:
    """Prepare the first of the coming items that has not been begun; return whether there is one."""
    for place, (item, preparing) in enumerate(coming):
        if preparing.cancel():
            prepare(item)
            done: Future[None] = Future()
            done.set_result(None)
            coming[place] = (item, done)
            return True
    return False
