"""How long each stage of a question takes."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Clock", "milliseconds_since"]


@dataclass(slots=True)
class Clock:
    """Milliseconds by stage; what a stage does in several turns is summed.

    Stages that run side by side, on two cores, add up to more than they take together.
    """

    timings_ms: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note how long what is done inside takes."""
        start = time.perf_counter()
        yield
        self.add(name, time.perf_counter() - start)

    def add(self, name: str, seconds: float) -> None:
        """Note that a stage took some seconds more."""
        self.timings_ms[name] = round(self.timings_ms.get(name, 0.0) + seconds * 1e3, 3)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a reading of the clock."""
    return round((time.perf_counter() - start) * 1e3, 3)
