"""Items in two steps on a few threads."""

from __future__ import annotations

import threading

import pytest

from ytrag_core.retrieval.ahead import in_two_steps

N = 30


class Steps:
    """Notes the steps taken, and how many ran at a time."""

    def __init__(self) -> None:
        self.prepared: list[int] = []
        self.finished: list[int] = []
        self.furthest = 0
        self._lock = threading.Lock()

    def prepare(self, item: int) -> int:
        with self._lock:
            self.furthest = max(self.furthest, item - len(self.finished))
            self.prepared.append(item)
        return 10 * item

    def finish(self, prepared: int) -> str:
        with self._lock:
            assert prepared // 10 in self.prepared
            self.finished.append(prepared // 10)
        return str(prepared)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("n_ahead", [1, 2, 7, 100])
def test_all_are_prepared_and_finished_once(n_ahead: int, n_threads: int) -> None:
    steps = Steps()
    found = in_two_steps(N, steps.prepare, steps.finish, n_ahead=n_ahead, n_threads=n_threads)
    assert found == [str(10 * item) for item in range(N)]
    assert sorted(steps.prepared) == sorted(steps.finished) == list(range(N))
    assert steps.furthest < n_ahead
    assert in_two_steps(0, steps.prepare, steps.finish, n_ahead=n_ahead, n_threads=n_threads) == []


def test_one_is_finished_while_the_next_ones_are_prepared() -> None:
    steps = Steps()

    def finish(prepared: int) -> str:
        if prepared == 0:
            while set(steps.prepared) < {0, 1, 2, 3}:
                threading.Event().wait(0.001)
        return steps.finish(prepared)

    assert in_two_steps(5, steps.prepare, finish, n_ahead=4, n_threads=2) == ["0", "10", "20", "30", "40"]


def test_several_are_finished_at_a_time_where_nothing_is_left_to_prepare() -> None:
    steps = Steps()
    both = threading.Barrier(2, timeout=60)

    def finish(prepared: int) -> str:
        if prepared in (10, 20):
            both.wait()
        return steps.finish(prepared)

    assert in_two_steps(3, steps.prepare, finish, n_ahead=3, n_threads=2) == ["0", "10", "20"]


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("step", ["prepare", "finish"])
def test_what_goes_wrong_comes_out_and_ends_the_work(step: str, n_threads: int) -> None:
    steps = Steps()

    def prepare(item: int) -> int:
        if step == "prepare" and item == 3:
            raise ValueError("item 3")
        return steps.prepare(item)

    def finish(prepared: int) -> str:
        if step == "finish" and prepared == 30:
            raise ValueError("item 3")
        return steps.finish(prepared)

    with pytest.raises(ValueError, match="item 3"):
        in_two_steps(1000, prepare, finish, n_ahead=8, n_threads=n_threads)
    assert len(steps.prepared) <= 20


def test_what_is_interrupted_ends_at_once() -> None:
    steps = Steps()

    def finish(prepared: int) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        in_two_steps(1000, steps.prepare, finish, n_ahead=4, n_threads=2)
    assert len(steps.prepared) <= 4
