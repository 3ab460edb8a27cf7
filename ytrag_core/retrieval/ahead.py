"""Many items on a few threads, each in two steps of which the first leaves the interpreter to others."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["in_two_steps"]

T = TypeVar("T")
R = TypeVar("R")


def in_two_steps(
    n: int, prepare: Callable[[int], T], finish: Callable[[T], R], *, n_ahead: int, n_threads: int
) -> list[R]:
    """Prepare and finish n items, on several threads that always have something to do.

    A thread finishes an item where no other thread finishes one, else it prepares the next one; where nothing
    may be prepared it finishes one all the same. So a step that holds the interpreter runs beside one that
    does not, and neither step has to take as long as the other.

    Parameters
    ----------
    n
        Number of items.
    prepare
        Called once with the number of each item.
    finish
        Called once with what `prepare` made of each.
    n_ahead
        Most items that are begun and not finished, at least 1.
    n_threads
        At least 1; the caller's is one of them.

    Returns
    -------
    list
        What `finish` made of each, in order.

    Raises
    ------
    Exception
        What a step raised; no further step is begun then.
    """
    work = _Work(n, prepare, finish, n_ahead)
    with ThreadPoolExecutor(max(n_threads - 1, 1), thread_name_prefix="ytrag-many") as pool:
        others = [pool.submit(work.run) for _ in range(n_threads - 1)]
        work.run()
        for other in others:
            other.result()
    return [work.results[item] for item in range(n)]


class _Work(Generic[T, R]):
    """What is to be done, what is being done and what is done."""

    def __init__(self, n: int, prepare: Callable[[int], T], finish: Callable[[T], R], n_ahead: int) -> None:
        self._n, self._prepare, self._finish, self._n_ahead = n, prepare, finish, n_ahead
        self._changed = threading.Condition()
        self._n_begun = self._n_finishing = 0
        self._prepared: dict[int, T] = {}
        self._stopped = False
        self.results: dict[int, R] = {}

    def run(self) -> None:
        """Take steps until none is left, or one went wrong."""
        try:
            while (step := self._next_step()) is not None:
                step()
        except BaseException:
            with self._changed:
                self._stopped = True
                self._changed.notify_all()
            raise

    def _next_step(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._stopped and len(self.results) + self._n_finishing < self._n:
                may_begin = self._n_begun < min(self._n, len(self.results) + self._n_ahead)
                if self._prepared and not (self._n_finishing and may_begin):
                    item = min(self._prepared)
                    prepared = self._prepared.pop(item)
                    self._n_finishing += 1
                    return lambda: self._finish_one(item, prepared)
                if may_begin:
                    item = self._n_begun
                    self._n_begun += 1
                    return lambda: self._prepare_one(item)
                self._changed.wait()
        return None

    def _prepare_one(self, item: int) -> None:
        prepared = self._prepare(item)
        with self._changed:
            self._prepared[item] = prepared
            self._changed.notify_all()

    def _finish_one(self, item: int, prepared: T) -> None:
        result = self._finish(prepared)
        with self._changed:
            self.results[item] = result
            self._n_finishing -= 1
            self._changed.notify_all()
