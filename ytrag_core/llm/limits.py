"""Requests and tokens a minute, shared by all threads that ask one endpoint."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ytrag_core.errors import ConfigError, LLMError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Clock", "RateLimits", "SystemClock"]

_BURST = 0.05
"""Share of a minute's limit that may go at once: no minute, wherever it starts, has over 105 %."""


class Clock(Protocol):
    """Time, and waiting for it to pass."""

    def now(self) -> float:
        """Return seconds since some moment; they never go back."""
        ...

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Wait until `changed` is notified or the seconds are over; the condition's lock is held."""
        ...


class SystemClock:
    """The machine's own time."""

    def now(self) -> float:
        """Return the monotonic clock."""
        return time.monotonic()

    def wait(self, changed: threading.Condition, seconds: float | None) -> None:
        """Wait for a notification, at most so long."""
        changed.wait(seconds)


@dataclass(slots=True)
class _Bucket:
    """What may go at once; grows with time up to its capacity, and may be overdrawn by what is larger."""

    per_second: float
    capacity: float
    level: float
    filled: float

    @classmethod
    def of(cls, per_minute: float | None, now: float) -> _Bucket | None:
        if per_minute is None:
            return None
        capacity = max(1.0, per_minute * _BURST)
        return cls(per_minute / 60.0, capacity, capacity, now)

    def delay(self, amount: float, now: float) -> float:
        """Return the seconds until `amount`, or all that the bucket holds, is there."""
        self.level = min(self.capacity, self.level + (now - self.filled) * self.per_second)
        self.filled = now
        missing = min(amount, self.capacity) - self.level
        return missing / self.per_second if missing > 1e-9 * self.capacity else 0.0


class RateLimits:
    """Token buckets for requests and for tokens, first come, first served.

    Parameters
    ----------
    requests_per_minute, tokens_per_minute
        The limits; None for none.
    clock
        Where time comes from.

    Attributes
    ----------
    requests_per_minute, tokens_per_minute
        As given.

    Raises
    ------
    ConfigError
        When a limit is not above 0.

    Notes
    -----
    A bucket holds a twentieth of a minute's limit, at least one request. What is larger than the bucket goes
    when it is full, and overdraws it: in any minute at most 105 % of the limit start, and one request more.
    Whoever waits is first in line until it may go, however large it is.
    """

    def __init__(
        self,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        *,
        clock: Clock | None = None,
    ) -> None:
        for name, limit in (("requests", requests_per_minute), ("tokens", tokens_per_minute)):
            if limit is not None and not 0.0 < limit < math.inf:
                raise ConfigError(f"the limit of {name} a minute must be above 0, {limit!r} arrived")
        self.requests_per_minute = requests_per_minute
        self.tokens_per_minute = tokens_per_minute
        self._clock = clock or SystemClock()
        now = self._clock.now()
        self._requests = _Bucket.of(requests_per_minute, now)
        self._tokens = _Bucket.of(tokens_per_minute, now)
        self._not_before = now
        self._changed = threading.Condition()
        self._queue: deque[object] = deque()
        self._cancelled = False

    def acquire(self, n_tokens: float = 0) -> None:
        """Wait until a request of so many tokens may go, and count it.

        Raises
        ------
        LLMError
            When `cancel` was called, before or while it waited.
        """
        with self._changed, self._place() as place:
            while True:
                self._check()
                delay = self._delay(n_tokens) if self._queue[0] is place else None
                if delay == 0.0:
                    break
                self._clock.wait(self._changed, delay)
            if self._requests:
                self._requests.level -= 1.0
            if self._tokens:
                self._tokens.level -= n_tokens

    def settle(self, estimated: float, used: float) -> None:
        """Count what a request really took in place of what it was let through for."""
        with self._changed:
            if self._tokens:
                self._tokens.level += estimated - used
            self._changed.notify_all()

    def hold(self, seconds: float) -> None:
        """Let nothing go for so long: an endpoint asked for a pause."""
        with self._changed:
            self._not_before = max(self._not_before, self._clock.now() + seconds)
            self._changed.notify_all()

    def rest(self, seconds: float) -> None:
        """Wait so long.

        Raises
        ------
        LLMError
            When `cancel` was called, before or while it waited.
        """
        with self._changed:
            end = self._clock.now() + seconds
            self._check()
            while (left := end - self._clock.now()) > 0.0:
                self._clock.wait(self._changed, left)
                self._check()

    def cancel(self) -> None:
        """Let nothing go any more: whoever waits, and whoever comes, gets an `LLMError`."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def _delay(self, n_tokens: float) -> float:
        now = self._clock.now()
        delays = [self._not_before - now]
        if self._requests:
            delays.append(self._requests.delay(1.0, now))
        if self._tokens:
            delays.append(self._tokens.delay(n_tokens, now))
        return max(0.0, *delays)

    def _check(self) -> None:
        if self._cancelled:
            raise LLMError("the request was cancelled before it was sent")

    @contextmanager
    def _place(self) -> Iterator[object]:
        place = object()
        self._queue.append(place)
        try:
            yield place
        finally:
            self._queue.remove(place)
            self._changed.notify_all()
