"""Blocks of work, the next one prepared on another core while one is finished."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from ytrag_core.config import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["prepared_ahead"]

T = TypeVar("T")
P = TypeVar("P")


def prepared_ahead(
    items: Sequence[T], size: int, prepare: Callable[[Sequence[T], int], P]
) -> Iterator[tuple[Sequence[T], P]]:
    """Yield blocks of items with what was prepared of them, one block ahead.

    Parameters
    ----------
    items
        What there is to do.
    size
        Items in a block.
    prepare
        Called with a block and the number of cores that it may use: all for the first block, which is waited
        for, half of them for the others.

    Yields
    ------
    block, prepared
        In order.
    """
    blocks = [items[start : start + size] for start in range(0, len(items), size)]
    cores = available_cores()
    with ThreadPoolExecutor(1, thread_name_prefix="ytrag-ahead") as pool:
        coming = [pool.submit(prepare, block, cores) for block in blocks[:1]]
        for position, block in enumerate(blocks):
            prepared = coming.pop().result()
            if position + 1 < len(blocks):
                coming.append(pool.submit(prepare, blocks[position + 1], max(1, cores // 2)))
            yield block, prepared
