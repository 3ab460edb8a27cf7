"""How long each stage of a question takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

__all__ = ["Clock", "milliseconds_since"]


class _Stage:
    """Notes how long what is done inside takes."""

    __slots__ = ("_clock", "_name", "_start")

    def __init__(self, clock: Clock, name: str) -> None:
        self._clock, self._name = clock, name

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *raised: object) -> None:
        self._clock.add(self._name, time.perf_counter() - self._start)


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage; what a stage does in several turns is summed.

    Stages that run side by side, on two cores, add up to more than they take together.
    """

    timings_ms: dict[str, float] = field(default_factory=dict)

    def stage(self, name: str) -> _Stage:
        """Note how long what is done inside takes."""
        return _Stage(self, name)

    def add(self, name: str, seconds: float) -> None:
        """Note that a stage took some seconds more."""
        self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + seconds * 1e3, 3)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a reading of the clock."""
    return round((time.perf_counter() - start) * 1e3, 3)
