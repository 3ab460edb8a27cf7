"""One operation done by several peers: each runs once to be compared, then they are timed one by one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

__all__ = ["OURS", "Race"]

OURS = "ytrag"
"""Peers whose names begin like this are ours."""

SECONDS = 0.8
SLOW, VERY_SLOW = 0.5, 4.0
"""Seconds of one run from which a peer is timed twice, or once."""


class Race:
    """Peers that do the same to inputs of one size.

    Parameters
    ----------
    operation : str
        What is done.
    size : int
        Of the input, in what `unit` says.
    unit : str

    Attributes
    ----------
    results : dict
        What each peer returned when it entered; emptied by `start`.
    recalls : dict
        How well each peer found what was to be found, where that is not the same for all.
    """

    def __init__(self, operation: str, size: int, unit: str = "nodes") -> None:
        self.operation, self.size, self.unit = operation, size, unit
        self.results: dict[str, Any] = {}
        self.recalls: dict[str, float] = {}
        self._runs: dict[str, Callable[[], object]] = {}
        self._first_seconds: dict[str, float] = {}
        self._limits: dict[str, int] = {}

    def leave_out(self, peer: str, limit: int) -> None:
        """Say that a peer would take too long above `limit`."""
        self._limits[peer] = limit

    def enter(self, peer: str, run: Callable[[], object], *, up_to: int | None = None) -> None:
        """Run a peer once and keep what it returns, unless the input is larger than `up_to`."""
        if up_to is not None and self.size > up_to:
            self.leave_out(peer, up_to)
            return
        started = time.perf_counter()
        self.results[peer] = run()
        self._first_seconds[peer] = time.perf_counter() - started
        self._runs[peer] = run

    def start(self) -> Race:
        """Drop the results, which have been compared."""
        self.results = {}
        return self

    def time(self, benchmark: BenchmarkFixture, peer: str, **facts: object) -> None:
        """Time one peer for about a second; slow ones less often, as they ran once to be compared."""
        if peer not in self._runs:
            pytest.skip(f"{peer} is measured up to {self._limits[peer]:,} {self.unit}")
        benchmark.group = f"{self.operation} | {self.size:,} {self.unit}"
        benchmark.extra_info.update(operation=self.operation, size=self.size, unit=self.unit, peer=peer)
        benchmark.extra_info.update(facts)
        seconds = self._first_seconds[peer]
        rounds = max(3, min(200, int(SECONDS / seconds)))
        if seconds > SLOW:
            rounds = 1 if seconds > VERY_SLOW else 2
        untyped: Any = benchmark
        untyped.pedantic(self._runs[peer], rounds=rounds, warmup_rounds=0 if seconds > SLOW else 1)
