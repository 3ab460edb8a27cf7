"""JSON out of what a language model wrote: whole, wrapped in prose and fences, half, or nearly JSON."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ReplyError
from ytrag_core.llm.chat import strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["json_from_reply"]

_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"[\[{]")
_THINK_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXCERPT = 120
_MAX_NESTED = 3
_MAX_CHARACTERS = 2_000_000
_MAX_STARTS = 200


def json_from_reply(text: str) -> Any:
    """Return the JSON object or array that a reply holds.

    Parameters
    ----------
    text
        A reply. Reasoning, code fences and prose around the JSON are left out; of several JSON texts the
        largest is taken, and all where nothing but white space or commas lies between them. Single quotes,
        Python's literals, comments, trailing commas and a missing end are mended (json-repair). A reply that
        is one JSON string is looked into.

    Returns
    -------
    Any
        A dict or a list. Lists and objects under a key given twice are joined, of other values the last that
        is not null counts; NaN and infinities are None; lone surrogates are replaced.

    Raises
    ------
    ReplyError
        When there is no JSON in it.
    """
    value = _find(text, _MAX_NESTED)
    if value is None:
        shown = " ".join(text[: 4 * _EXCERPT].split())
        shown = shown if len(shown) <= _EXCERPT else f"{shown[:_EXCERPT]}..."
        arrived = f"{shown!r} arrived" if shown else "an empty text arrived"
        raise ReplyError(f"the language model was to reply in JSON, {arrived}")
    return _clean(value)


def _find(text: str, nested: int) -> dict[str, Any] | list[Any] | None:
    bare = strip_reasoning(text[:_MAX_CHARACTERS]).lstrip("\ufeff")
    if not bare:  # all of it inside reasoning that never ends
        bare = _THINK_TAG.sub("", text[:_MAX_CHARACTERS]).strip()
    value = _strict(bare)
    if isinstance(value, str) and nested:
        return _find(value, nested - 1)
    if isinstance(value, dict | list):
        return value
    fenced = [inside.strip() for inside in _FENCE.findall(bare)]
    found = [value for inside in fenced if _START.match(inside) for value in _values(inside)]
    found = found or list(_values(bare))
    if not found and '{\\"' in bare:
        found = list(_values(bare.replace('\\"', '"').replace("\\n", "\n")))
    return max(found, key=_worth)[1] if found else None


def _worth(found: tuple[int, Any]) -> tuple[bool, int]:
    """Rank objects, and arrays of anything but plain values, above the brackets of prose."""
    length, value = found
    return isinstance(value, dict) or any(isinstance(item, dict | list) for item in value), length


def _values(text: str) -> Iterator[tuple[int, dict[str, Any] | list[Any]]]:
    """Yield the JSON texts in `text` with their lengths; those that follow each other at once as one list."""
    run: list[Any] = []
    run_start = at = 0
    for _ in range(_MAX_STARTS):
        start = _START.search(text, at)
        between = text[at : start.start() if start else len(text)]
        if run and (start is None or between.strip(" \t\r\n,")):
            yield at - run_start, run[0] if len(run) == 1 else run
            run = []
        if start is None:
            return
        if not run:
            run_start = start.start()
        value, end = _value_at(text, start.start())
        if value is not None:
            run.append(value)
        at = end
    if run:
        yield at - run_start, run[0] if len(run) == 1 else run


def _value_at(text: str, start: int) -> tuple[dict[str, Any] | list[Any] | None, int]:
    """Return the object or array that starts here, and where it ends."""
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        end = _closing(text, start)
        return _repaired(text[start:end]), end
    return value, end


def _strict(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _repaired(text: str) -> dict[str, Any] | list[Any] | None:
    from json_repair import repair_json

    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and value else None


def _closing(text: str, start: int) -> int:
    """Return the end of the bracket that opens at `start`; that of the text where it never closes."""
    depth = 0
    quoted = False
    at = start
    while at < len(text):
        character = text[at]
        if quoted:
            if character == "\\":
                at += 1
            elif character == '"':
                quoted = False
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(text)


def _joined(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of which a key that was given twice keeps both values where they can be joined."""
    fields: dict[str, Any] = {}
    for key, value in pairs:
        before = fields.get(key)
        if isinstance(before, list) and isinstance(value, list):
            fields[key] = before + value
        elif isinstance(before, dict) and isinstance(value, dict):
            fields[key] = before | value
        elif value is not None or key not in fields:
            fields[key] = value
    return fields


_DECODER = json.JSONDecoder(object_pairs_hook=_joined, parse_constant=lambda _: None, strict=False)


def _clean(value: Any) -> Any:
    if isinstance(value, dict):
        return {_clean(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    return value
