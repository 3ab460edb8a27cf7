"""Records that a language model writes as delimited tuples instead of JSON: `("entity"<|>Ada<|>person)##`."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["tuple_records"]

_SEPARATOR = "<|>"
_COMPLETE = "<|COMPLETE|>"
_START = re.compile(r'\(\s*["“”\']?(?=[^()<|]{1,40}["“”\']?\s*<\|>)')
_END = re.compile(r'["“”\']?\s*[)）]\s*(?:##|<\|COMPLETE\|>|\n|\Z)')
_QUOTES = "\"'“” \t\r\n"
_EXCERPT = 60


def tuple_records(text: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Return the finished records of a reply, and what else was in it.

    Parameters
    ----------
    text
        Records in brackets, their fields separated by `<|>`, the records by `##` or line ends, prose around
        them. Quotes around a field, or left open before the closing bracket, are no part of it.

    Returns
    -------
    tuple
        The records, each the tuple of its fields; complaints, of a record that breaks off and of a reply that
        has none.
    """
    records: list[tuple[str, ...]] = []
    complaints: list[str] = []
    starts = [match.start() for match in _START.finditer(text)]
    for start, following in pairwise([*starts, len(text)]):
        part = text[start:following]
        end = _END.search(part)
        if end is None:
            complaints.append(f"the record {_excerpt(part)!r} breaks off")
            continue
        fields = part[1 : end.start()].split(_SEPARATOR)
        records.append(tuple(field.strip(_QUOTES) for field in fields))
    if not starts:
        said = text.replace(_COMPLETE, "").strip()
        complaints.append(f"no records, {_excerpt(said)!r} arrived" if said else "no records")
    return tuple(records), tuple(complaints)


def _excerpt(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _EXCERPT else f"{flat[:_EXCERPT]}..."
