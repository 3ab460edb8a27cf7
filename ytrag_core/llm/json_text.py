"""JSON out of what a language model wrote: whole, wrapped in prose and fences, half, or nearly JSON."""

from __future__ import annotations

import ast
import json
import math
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ReplyError
from ytrag_core.llm.chat import strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["json_from_reply"]

_Value = dict[str, Any] | list[Any] | None

_FENCE = re.compile(r"```[ \t]*[\w+-]*[ \t]*\n?(.*?)(?:```|\Z)", re.DOTALL)
_START = re.compile(r"[\[{]")
_BRACKET = re.compile(r"[\[{}\]]")
_THINK_TAG = re.compile(r"</?think(?:ing)?>", re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")
_EXCERPT = 120
_ESCAPED = re.compile(r"[\[{]\s*\\\"")
_PYTHON = re.compile(r"(?:[^\\]|\\[\\'\"nrtux])*\Z")  # Python warns of other escapes
_MAX_NESTED = 3
_MAX_CHARACTERS = 2_000_000
_MAX_STARTS = 200
_MAX_DEPTH = 60
_MAX_MENDED = 60_000


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


def _find(text: str, nested: int) -> _Value:
    bare = strip_reasoning(text[:_MAX_CHARACTERS]).lstrip("\ufeff")
    if not bare:  # all of it inside reasoning that never ends
        bare = _THINK_TAG.sub("", text[:_MAX_CHARACTERS]).strip()
    value = _strict(bare)
    if isinstance(value, str) and nested:
        return _find(value, nested - 1)
    if isinstance(value, dict | list):
        return value
    found = _sound_values(bare)
    if not found and _ESCAPED.search(bare):
        found = _sound_values(bare.replace('\\"', '"').replace("\\n", "\n"))
    if not found:
        fenced = [inside.strip() for inside in _FENCE.findall(bare)]
        found = [value for inside in fenced if _START.match(inside) for value in _values(inside, _mended)]
        found = found or list(_values(bare, _mended))
    return max(found, key=_worth)[1] if found else None


def _sound_values(text: str) -> list[tuple[int, _Value]]:
    """Return the JSON texts in `text`; none where a bracket opens anything else."""
    try:
        return list(_values(text, _sound))
    except ValueError:
        return []


def _worth(found: tuple[int, Any]) -> tuple[bool, int]:
    """Rank objects, and arrays of anything but plain values, above the brackets of prose."""
    length, value = found
    return isinstance(value, dict) or any(isinstance(item, dict | list) for item in value), length


def _values(text: str, value_at: Callable[[str, int], tuple[_Value, int]]) -> Iterator[tuple[int, _Value]]:
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
        value, end = value_at(text, start.start())
        if value is not None:
            run.append(value)
        at = end
    if run:
        yield at - run_start, run[0] if len(run) == 1 else run


def _sound(text: str, start: int) -> tuple[_Value, int]:
    """Return the object or array that starts here, and where it ends; a `ValueError` where it is no JSON."""
    try:
        return _DECODER.raw_decode(text, start)
    except RecursionError:
        raise ValueError from None


def _mended(text: str, start: int) -> tuple[_Value, int]:
    """Return what starts here, mended where it is no JSON: None where nothing can be made of it."""
    try:
        return _sound(text, start)
    except ValueError:
        end = _closing(text, start)
        part = text[start:end]
        whole_part = _without_half_item(part) if end == len(text) else part
        value = _strict(whole_part) if whole_part != part else _python_literal(part)
        return value if isinstance(value, dict | list) else _repaired(whole_part), end


def _strict(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _python_literal(text: str) -> Any:
    """Return a dict or list as Python writes it, None where it is none."""
    if not _PYTHON.match(text) or len(text) > _MAX_MENDED or _depth(text) > _MAX_DEPTH:
        return None
    try:
        value = ast.literal_eval(text)
        return _DECODER.decode(json.dumps(value, default=list))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _repaired(text: str) -> _Value:
    from json_repair import repair_json

    if len(text) > _MAX_MENDED or _depth(text) > _MAX_DEPTH:
        return None
    try:
        value = repair_json(text, return_objects=True, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and value else None


def _depth(text: str) -> int:
    """Return how deep brackets are nested, those in strings counted too."""
    steps = (1 if bracket in "[{" else -1 for bracket in _BRACKET.findall(text))
    return max(accumulate(steps), default=0)


def _closing(text: str, start: int) -> int:
    """Return the end of the bracket that opens at `start`; that of the text where it never closes."""
    depth = 0
    for at, character in _marks(text, start):
        if character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
            if depth == 0:
                return at + 1
    return len(text)


def _marks(text: str, start: int = 0) -> Iterator[tuple[int, str]]:
    """Yield the characters of a JSON text that stand outside of strings, and the quotes around these."""
    quoted = False
    at = start
    while at < len(text):
        character = text[at]
        if quoted and character == "\\":
            at += 1
        elif character == '"':
            quoted = not quoted
            yield at, character
        elif not quoted:
            yield at, character
        at += 1


def _without_half_item(text: str) -> str:
    """Return a JSON text that was cut inside an item of an array without that item, and closed.

    A half-written item is worse than none: a name cut in two is another name. Of nested arrays the outermost
    one counts whose items are arrays or objects.
    """
    if text.rstrip().endswith(("}", "]")):
        return text
    opened: list[tuple[str, int]] = []
    last_item: list[int] = []
    quoted = False
    for at, character in _marks(text):
        if character == '"':
            quoted = not quoted
        elif character in "[{":
            opened.append((character, at))
            last_item.append(at + 1)
        elif character in "]}" and opened:
            opened.pop()
            last_item.pop()
        elif character == "," and opened and opened[-1][0] == "[":
            last_item[-1] = at
    holders = [depth for depth, (bracket, _) in enumerate(opened[:-1]) if bracket == "["]
    if opened and opened[-1][0] == "[" and quoted:
        holders.append(len(opened) - 1)
    if not holders:
        return text
    depth = holders[0]
    closers = "".join("]" if bracket == "[" else "}" for bracket, _ in reversed(opened[: depth + 1]))
    return text[: last_item[depth]] + closers


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
