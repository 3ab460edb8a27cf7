"""Work on a second core while the first goes on.

It pays for what holds no lock of the interpreter: the encoder and the longer kernels.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from ytrag_core.config import available_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["ALONE", "Beside", "SecondCore"]

P = ParamSpec("P")
T = TypeVar("T")


class Beside:
    """Where a question has something done beside its own thread.

    Parameters
    ----------
    pool
        Does it; without it, the caller does it at once.
    """

    def __init__(self, pool: ThreadPoolExecutor | None = None) -> None:
        self._pool = pool

    def start(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Callable[[], T]:
        """Start something and return what waits for its result, or raises what it raised."""
        if self._pool is None:
            result = do(*args, **kwargs)
            return lambda: result
        return self._pool.submit(do, *args, **kwargs).result


ALONE = Beside()
"""Nothing is done beside: all cores are busy, or there is one."""


class SecondCore:
    """Lends a second core to a question that is asked while no other is.

    A process that was forked gets a thread of its own: those of its parent did not come along.
    """

    def __init__(self) -> None:
        self._counting = threading.Lock()
        self._n_asked = 0
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()

    @contextmanager
    def lent(self) -> Iterator[Beside]:
        """Count a question that is being answered, and lend it the core if it is the only one."""
        with self._counting:
            if self._process != os.getpid():
                self._process, self._pool, self._n_asked = os.getpid(), None, 0
            self._n_asked += 1
            pool = self._own_pool() if self._n_asked == 1 and available_cores() > 1 else None
        try:
            yield ALONE if pool is None else Beside(pool)
        finally:
            with self._counting:
                self._n_asked -= 1

    def _own_pool(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="ytrag-beside")
        return self._pool
