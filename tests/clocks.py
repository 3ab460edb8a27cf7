"""Clocks that tests set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import threading


@dataclass
class PatientClock:
    """A clock that whoever waits turns forward; only real notifications take real time."""

    time: float = 1000.0

    def now(self) -> float:
        """Return the time."""
        return self.time

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Let the seconds pass at once; without any, wait for the notification."""
        if seconds is None:
            changed.wait(60)
        else:
            self.time += seconds
