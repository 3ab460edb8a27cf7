"""Blocks of work, the next one prepared on another core while one is finished."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from ytrag_core.config import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["blocks_of", "prepared_ahead"]

T = TypeVar("T")
B = TypeVar("B")


def blocks_of(items: Sequence[T], size: int, longest: int) -> Iterator[Sequence[T]]:
    """Yield items in blocks, each half as long again as the one before, up to `longest`.

    The first is waited for while nothing else is done; a later one has the time of the one before it.
    """
    start = 0
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, min(size + max(size // 2, 1), longest)


def prepared_ahead(blocks: Iterator[B], prepare: Callable[[B, int], None]) -> Iterator[B]:
    """Yield blocks that have been prepared, while the next one is being prepared on another core.

    Parameters
    ----------
    blocks
        Taken from one by one, in the caller's thread, one ahead.
    prepare
        Called with a block and the number of cores that it may use: all for the first block, which is waited
        for, half of them for the others.

    Yields
    ------
    block
        In order.
    """
    cores = available_cores()
    with ThreadPoolExecutor(1, thread_name_prefix="ytrag-ahead") as pool:
        first = next(blocks, None)
        coming = [] if first is None else [(first, pool.submit(prepare, first, cores))]
        while coming:
            block, preparing = coming.pop()
            following = next(blocks, None)
            preparing.result()
            if following is not None:
                coming.append((following, pool.submit(prepare, following, max(1, cores // 2))))
            yield block
