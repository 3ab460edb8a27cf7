"""JSON Lines: one record a line, bad lines set aside with their number and reason."""

from __future__ import annotations

import codecs
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.text import clean_text, path_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Record", "document_from_record", "read_records", "record_id"]

_MOST_DIGITS = 1000
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a JSON Lines file.

    Attributes
    ----------
    source
        Path and line, `corpus.jsonl:12`.
    fields
        The object.
    """

    source: str
    fields: Mapping[str, Any]


def read_records(path: Path) -> Iterator[Record | Problem]:
    """Yield the objects of a JSON Lines file one by one, in order.

    Parameters
    ----------
    path
        UTF-8 with or without BOM, or UTF-16 with BOM. Blank lines are skipped.

    Yields
    ------
    Record or Problem
        A problem for each line that is not one JSON object, and one for a file that cannot be read on.
    """
    name = path_name(path)
    try:
        for number, line in _lines(path):
            outcome = _parse(line)
            if isinstance(outcome, str):
                yield Problem(f"{name}:{number}", outcome)
            elif outcome is not None:
                yield Record(f"{name}:{number}", outcome)
    except OSError as error:
        yield Problem(name, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        yield Problem(name, f"cannot be read on: not valid UTF-16 ({error.reason}); save it as UTF-8")


def _lines(path: Path) -> Iterator[tuple[int, bytes | str]]:
    with path.open("rb") as stream:
        is_utf16 = stream.read(2) in _UTF16
        stream.seek(0)
        if not is_utf16:
            for number, line in enumerate(stream, 1):
                yield number, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            return
    with path.open(encoding="utf-16", newline="\n") as text:
        yield from enumerate(text, 1)


def _parse(line: bytes | str) -> dict[str, Any] | str | None:
    """Return the object, a reason why there is none, or None for a blank line."""
    if not line.strip():
        return None
    try:
        text = line if isinstance(line, str) else line.decode("utf-8")
        value = _DECODER.decode(text)
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start + 1} of the line); save the file as UTF-8"
    except RecursionError:
        return "nested too deeply; a record is a flat JSON object"
    except ValueError as error:
        return f"not valid JSON: {error}"
    if not isinstance(value, dict):
        return f"a JSON object was wanted, {_kind(value)} arrived"
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number; write null instead")


def _bounded(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"the number {digits[:40]}... has {len(digits)} digits; write it as a string")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return value


def _kind(value: object) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded)


def record_id(value: object) -> str | None:
    """Return an identity as a string, None where there is none, or raise for other types.

    Parameters
    ----------
    value
        The JSON value: a string, an integer, null or blank.

    Raises
    ------
    ValueError
        For any other type.
    """
    if value is None:
        return None
    if isinstance(value, str):
        return clean_text(value).strip() or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise ValueError(f"a string or an integer was wanted, {_kind(value)} arrived")


def _clean(value: Any) -> Any:
    """Return a JSON value with every string in it as `clean_text` makes it."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean(part) for part in value]
    if isinstance(value, dict):
        return {clean_text(key): _clean(part) for key, part in value.items()}
    return value


def document_from_record(record: Record) -> Document | Problem:
    """Return the document that a record {id?, title?, text, ...metadata} describes.

    Parameters
    ----------
    record
        The object with its origin. An integer id or title becomes a string; without an id, the path and
        line are the identity.
    """
    fields = record.fields
    try:
        identity = record_id(fields.get("id"))
    except ValueError as error:
        return Problem(record.source, f"the field id: {error}")
    title = fields.get("title")
    if isinstance(title, int | float) and not isinstance(title, bool):
        title = str(title)
    if title is not None and not isinstance(title, str):
        return Problem(record.source, f"the field title: a string was wanted, {_kind(title)} arrived")
    text = fields.get("text")
    if not isinstance(text, str):
        arrived = f"{_kind(text)} arrived" if "text" in fields else "it is missing"
        return Problem(record.source, f"the field text: a string was wanted, {arrived}")
    text = clean_text(text)
    if not text.strip():
        return Problem(record.source, "the field text is empty")
    try:
        metadata = _clean({key: value for key, value in fields.items() if key not in {"id", "title", "text"}})
    except RecursionError:
        return Problem(record.source, "its metadata is nested too deeply")
    return Document(
        id=identity or record.source,
        title=" ".join(clean_text(title or "").split()),
        text=text,
        source=record.source,
        metadata=metadata,
        has_record_id=identity is not None,
    )
