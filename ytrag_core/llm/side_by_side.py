"""Calls side by side: a bounded number at a time, each started only when there is room for it."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["side_by_side"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class _Crew(Generic[Item, Result]):
    """Threads that take items from a queue; they do not keep the process alive."""

    def __init__(self, call: Callable[[Item], Result], n_threads: int) -> None:
        self._call = call
        self._n_threads = n_threads
        self._n_started = 0
        self._todo: SimpleQueue[Item | None] = SimpleQueue()
        self.done: SimpleQueue[tuple[Item, Future[Result]]] = SimpleQueue()

    def start(self, item: Item) -> None:
        if self._n_started < self._n_threads:
            self._n_started += 1
            threading.Thread(target=self._work, name="ytrag-call", daemon=True).start()
        self._todo.put(item)

    def dismiss(self) -> None:
        for _ in range(self._n_started):
            self._todo.put(None)

    def _work(self) -> None:
        while (item := self._todo.get()) is not None:
            outcome: Future[Result] = Future()
            try:
                outcome.set_result(self._call(item))
            except BaseException as error:  # noqa: BLE001 - raised again where the results are taken
                outcome.set_exception(error)
            self.done.put((item, outcome))


def side_by_side(
    items: Iterable[Item | None], call: Callable[[Item], Result], n_calls: int
) -> Iterator[tuple[Item, Result]]:
    """Yield each item with what `call` returns for it, in the order in which the calls end.

    Parameters
    ----------
    items
        What to call with; the next one is taken when a call may start. None says that nothing may start
        before a running call has ended, and is asked again then; where none runs, it ends the iteration.
    call
        Called in threads of its own. What it raises is raised here.
    n_calls
        How many at a time.

    Notes
    -----
    Whoever stops iterating, by Ctrl-C for example, does not wait for the calls that run: they end by
    themselves, and what they return is dropped. So a call itself keeps what must not be lost.
    """
    crew = _Crew(call, n_calls)
    source = iter(items)
    n_running, is_over = 0, False
    try:
        while True:
            while not is_over and n_running < n_calls:
                try:
                    item = next(source)
                except StopIteration:
                    is_over = True
                    break
                if item is None:
                    is_over = n_running == 0
                    break
                crew.start(item)
                n_running += 1
            if not n_running:
                return
            finished, outcome = crew.done.get()
            n_running -= 1
            yield finished, outcome.result()
    finally:
        crew.dismiss()
