"""Items prepared ahead, on another core or, where that one is behind, in the caller's thread."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from ytrag_core.retrieval.ahead import prepared_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator

N = 30


class Preparing:
    """Notes what the caller's thread prepared; in the other one, some items wait until it has done others."""

    def __init__(self, held: set[int] | None = None, until: set[int] | None = None) -> None:
        self.held, self.until = held or set(), until or set()
        self.go = threading.Event()
        self.prepared: list[int] = []
        self.by_caller: list[int] = []
        self._caller = threading.current_thread()

    def __call__(self, item: int) -> None:
        if threading.current_thread() is self._caller:
            self.by_caller.append(item)
            if self.until <= set(self.by_caller):
                self.go.set()
        elif item in self.held:
            assert self.go.wait(30)
        self.prepared.append(item)


def counted(n: int, taken: list[int]) -> Iterator[int]:
    for item in range(n):
        taken.append(item)
        yield item


@pytest.mark.parametrize("n_ahead", [1, 2, 7, 100])
def test_all_come_in_order_each_prepared_once(n_ahead: int) -> None:
    preparing, taken = Preparing(), list[int]()
    for item in prepared_ahead(counted(N, taken), preparing, n_ahead):
        assert item in preparing.prepared
        assert len(taken) <= item + n_ahead + 1
    assert sorted(preparing.prepared) == list(range(N)) == taken
    assert list(prepared_ahead(iter([]), preparing, n_ahead)) == []


def test_the_next_ones_are_prepared_while_one_is_finished() -> None:
    preparing = Preparing()
    found = prepared_ahead(iter(range(4)), preparing, 4)
    assert next(found) == 0
    while set(preparing.prepared) != {0, 1, 2, 3}:
        threading.Event().wait(0.001)
    assert list(found) == [1, 2, 3]


def test_the_caller_prepares_what_the_other_thread_has_not_come_to() -> None:
    preparing = Preparing(held={0}, until={1, 2, 3, 4})
    found = prepared_ahead(counted(N, []), preparing, 5)
    assert next(found) == 0
    assert set(preparing.by_caller) >= {1, 2, 3, 4} or 0 in preparing.by_caller
    assert list(found) == list(range(1, N))
    assert sorted(preparing.prepared) == list(range(N))


def test_what_goes_wrong_ahead_comes_out_in_turn() -> None:
    def prepare(item: int) -> None:
        if item == 1:
            raise ValueError("item 1")

    found = prepared_ahead(iter([0, 1, 2]), prepare, 1)
    assert next(found) == 0
    with pytest.raises(ValueError, match="item 1"):
        next(found)


def test_what_is_not_asked_for_is_not_prepared() -> None:
    preparing = Preparing()
    found = prepared_ahead(counted(N, []), preparing, 3)
    next(found)
    found.close()
    assert len(preparing.prepared) <= 4
