"""Dates as they are written in metadata, as spans of time."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

__all__ = ["date_span"]

_DATE = re.compile(
    r"""\s* (?P<year> [12]\d{3} )
    (?: (?P<sep> [-/.] ) (?P<month> \d{1,2} ) (?: (?P=sep) (?P<day> \d{1,2} ) )?
      | \s* 年 (?: \s* (?P<month_zh> \d{1,2} ) \s* 月 (?: \s* (?P<day_zh> \d{1,2} ) \s* [日号] )? )? )?
    (?: [T ] (?P<clock> \d{1,2}:\d{2} (?: :\d{2} (?: \.\d+ )? )? ) \s*
        (?P<zone> Z | [+-]\d{2}:?\d{2} )? )? \s*""",
    re.VERBOSE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_span(text: str) -> tuple[float, float] | None:
    """Return the seconds since 1970 at which a written date begins and ends; None where it is no date.

    Parameters
    ----------
    text
        A year, a month or a day in digits, year first (`2020`, `2020-05`, `2020/5/31`, `2020年5月`), or a day
        with a time and perhaps its offset from UTC, which it is taken for otherwise.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year = int(found["year"])
    month, day = found["month"] or found["month_zh"], found["day"] or found["day_zh"]
    if found["clock"] and not day:
        return None
    try:
        start = datetime(year, int(month or 1), int(day or 1), tzinfo=UTC)
        if found["clock"]:
            return _moment(start, found["clock"], found["zone"] or "Z")
        if day:
            end = start + timedelta(days=1)
        elif month:
            end = datetime(year + int(month) // 12, int(month) % 12 + 1, 1, tzinfo=UTC)
        else:
            end = datetime(year + 1, 1, 1, tzinfo=UTC)
    except ValueError:
        return None
    return (start - _EPOCH).total_seconds(), (end - _EPOCH).total_seconds()


def _moment(day: datetime, clock: str, zone: str) -> tuple[float, float]:
    parts = clock.split(":")
    hours, minutes, seconds = int(parts[0]), int(parts[1]), float(parts[2]) if len(parts) > 2 else 0.0
    if hours > 23 or minutes > 59 or seconds >= 61:
        raise ValueError(clock)
    shift = 0
    if zone != "Z":
        digits = zone[1:].replace(":", "")
        shift = (int(digits[:2]) * 60 + int(digits[2:])) * (-60 if zone[0] == "-" else 60)
    start = (day - _EPOCH).total_seconds() + hours * 3600 + minutes * 60 + seconds - shift
    length = 60.0 if len(parts) < 3 else 1.0 if "." not in parts[2] else 1e-3
    return start, start + length
