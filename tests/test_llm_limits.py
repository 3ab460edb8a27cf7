"""Requests and tokens a minute, held on a clock that the test sets."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import PatientClock
from ytrag_core.errors import ConfigError, LLMError
from ytrag_core.llm.limits import RateLimits

MINUTE = 60.0


def started(limits: RateLimits, clock: PatientClock, sizes: list[int]) -> list[tuple[float, int]]:
    """Return when each request went."""
    times = []
    for size in sizes:
        limits.acquire(size)
        times.append((clock.now(), size))
    return times


def busiest_minute(times: list[tuple[float, int]], weigh: bool) -> float:
    """Return the most that went in any minute, wherever it starts."""
    most = current = first = 0
    for end, size in times:
        current += size if weigh else 1
        while times[first][0] <= end - MINUTE:
            current -= times[first][1] if weigh else 1
            first += 1
        most = max(most, current)
    return most


@pytest.mark.parametrize("limit", [30.0, 60.0, 500.0, 3000.0])
def test_requests_are_held_within_five_percent(limit: float) -> None:
    clock = PatientClock()
    times = started(RateLimits(limit, clock=clock), clock, [1] * int(3 * limit))
    assert busiest_minute(times, weigh=False) <= 1.05 * limit + 1e-9
    took = times[-1][0] - times[0][0]
    assert 0.95 * limit <= len(times) / (took / MINUTE) <= 1.05 * limit


@given(st.integers(0, 1000), st.sampled_from([6_000.0, 60_000.0, 1_000_000.0]))
def test_tokens_are_held_within_five_percent(seed: int, limit: float) -> None:
    rng = random.Random(seed)
    largest = int(0.04 * limit)
    sizes = [rng.randint(1, largest) for _ in range(300)]
    clock = PatientClock()
    times = started(RateLimits(tokens_per_minute=limit, clock=clock), clock, sizes)
    assert busiest_minute(times, weigh=True) <= 1.05 * limit + largest
    took = times[-1][0] - times[0][0]
    assert 0.94 * limit <= sum(sizes[:-1]) / (took / MINUTE) <= 1.06 * limit


def test_what_is_larger_than_a_minute_goes_too_and_is_paid_for() -> None:
    clock = PatientClock()
    times = started(RateLimits(tokens_per_minute=600.0, clock=clock), clock, [1500] * 4)
    assert [round(later - sooner) for (sooner, _), (later, _) in pairwise(times)] == [150, 150, 150]


def test_both_limits_hold_at_once() -> None:
    clock = PatientClock()
    limits = RateLimits(60.0, 6000.0, clock=clock)
    for size, seconds in ((1, 1.0), (300, 3.0)):
        started(limits, clock, [size] * 10)
        start = clock.now()
        started(limits, clock, [size] * 20)
        assert clock.now() - start == pytest.approx(20 * seconds, rel=0.05)


def test_no_limit_is_no_wait() -> None:
    clock = PatientClock()
    started(RateLimits(clock=clock), clock, [10**9] * 1000)
    assert clock.now() == 1000.0


def test_settled_is_what_was_used() -> None:
    clock = PatientClock()
    limits = RateLimits(tokens_per_minute=60_000.0, clock=clock)
    for _ in range(600):
        limits.acquire(5000)
        limits.settle(5000, 1500)
    assert 600 * 1500 / ((clock.now() - 1000.0) / MINUTE) == pytest.approx(60_000, rel=0.05)
    limits.acquire(10)
    limits.settle(10, 70_000)  # it wrote far more than was thought
    start = clock.now()
    limits.acquire(10)
    assert clock.now() - start > 60.0


def test_idling_saves_up_a_twentieth_of_a_minute_and_no_more() -> None:
    clock = PatientClock()
    limits = RateLimits(600.0, clock=clock)
    clock.time += 86_400.0
    times = started(limits, clock, [1] * 100)
    assert sum(time == times[0][0] for time, _ in times) == 30


def test_a_pause_holds_everyone() -> None:
    clock = PatientClock()
    limits = RateLimits(clock=clock)
    limits.hold(20.0)
    limits.hold(5.0)
    limits.acquire(1)
    assert clock.now() == 1020.0
    limits.acquire(1)
    limits.rest(3.0)
    assert clock.now() == 1023.0


class Noting(RateLimits):
    """Limits that note when each request goes: its thread may be woken long after."""

    times: list[float]

    def __init__(self, *limits: float, clock: PatientClock) -> None:
        super().__init__(*limits, clock=clock)
        self.times = []

    def _delay(self, n_tokens: float) -> float:
        delay = super()._delay(n_tokens)
        if delay == 0.0:
            self.times.append(self._clock.now())
        return delay


def test_many_threads_share_one_limit() -> None:
    clock = PatientClock()
    limits = Noting(60.0, 60_000.0, clock=clock)
    times = limits.times

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(25):
            estimated, used = rng.randint(500, 1500), rng.randint(100, 1500)
            limits.acquire(estimated)
            limits.settle(estimated, used)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(times) == 200
    assert busiest_minute([(time, 1) for time in sorted(times)], weigh=False) <= 63
    assert (clock.now() - 1000.0) / 200 == pytest.approx(1.0, rel=0.05)


def test_first_come_first_served() -> None:
    limits = RateLimits(60_000.0, 60_000.0)
    limits.hold(3600.0)
    served: list[int] = []
    threads = []

    def go(n: int) -> None:
        limits.acquire(1)
        served.append(n)

    for n in range(5):
        thread = threading.Thread(target=go, args=(n,))
        thread.start()
        threads.append(thread)
        while len(limits._queue) <= n:
            time.sleep(0.001)
    limits._not_before = 0.0
    limits.settle(0, 0)
    for thread in threads:
        thread.join(30)
    assert sorted(served) == served == [0, 1, 2, 3, 4]


def test_cancelling_wakes_whoever_waits() -> None:
    limits = RateLimits(1.0)
    limits.acquire(1)
    failures: list[str] = []

    def wait(rest: bool) -> None:
        try:
            limits.rest(3600.0) if rest else limits.acquire(1)
        except LLMError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=wait, args=(rest,)) for rest in (True, False, False)]
    for thread in threads:
        thread.start()
    limits.cancel()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert failures == ["the request was cancelled before it was sent"] * 3
    with pytest.raises(LLMError, match="cancelled"):
        limits.acquire(1)


class Interrupting(PatientClock):
    """A clock at which whoever waits is interrupted, as by Ctrl-C."""

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_wait_leaves_the_line() -> None:
    limits = RateLimits(1.0, clock=Interrupting())
    limits.acquire(1)
    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            limits.acquire(1)
    assert not limits._queue


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_limits_are_checked(limit: float) -> None:
    with pytest.raises(ConfigError, match="requests a minute must be above 0"):
        RateLimits(limit)
    with pytest.raises(ConfigError, match="tokens a minute must be above 0"):
        RateLimits(None, limit)
