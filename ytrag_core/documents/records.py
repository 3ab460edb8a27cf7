"""Records {id?, title?, text, ...metadata} in JSON Lines and JSON; bad ones are set aside with reasons."""

from __future__ import annotations

import codecs
import io
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ytrag_core.documents.decoding import SAMPLE_BYTES, chinese_encoding, decode
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.source import Source, file_source
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = ["Record", "document_from_record", "read_json", "read_records", "record_id"]

_MOST_DIGITS = 1000
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a JSON Lines file or a JSON array.

    Attributes
    ----------
    source
        Path and line, `corpus.jsonl:12`; in an array, path and place in it, from 1.
    fields
        The object.
    """

    source: str
    fields: Mapping[str, Any]


def read_records(file: Path | Source) -> Iterator[Record | Problem]:
    """Yield the objects of a JSON Lines file one by one, in order.

    Parameters
    ----------
    file
        UTF-8 with or without BOM, UTF-16 with BOM, GB18030 or Big5. Blank lines are skipped.

    Yields
    ------
    Record or Problem
        A problem for each line that is not one JSON object, and one for a file that cannot be read on.
    """
    source = file if isinstance(file, Source) else file_source(file)
    name = source.name
    try:
        for number, line in _lines(source):
            outcome = _parse(line)
            if isinstance(outcome, str):
                yield Problem(f"{name}:{number}", outcome)
            elif outcome is not None:
                yield Record(f"{name}:{number}", outcome)
    except OSError as error:
        yield Problem(name, f"cannot be read: {error.strerror or error}")
    except UnicodeDecodeError as error:
        yield Problem(name, f"cannot be read on: not valid UTF-16 ({error.reason}); save it as UTF-8")


def read_json(source: Source) -> Iterator[Record | Problem]:
    """Yield the records of a JSON file.

    Parameters
    ----------
    source
        An array of objects; an object that is one record; an object with one array of objects in it, such as
        `{"data": [...]}`; or, under the wrong name, JSON Lines.

    Yields
    ------
    Record or Problem
        A problem for each entry that is no object.

    Raises
    ------
    ValueError
        If the file is nothing of the kind; the message is the reason.
    OSError
        If it cannot be read.
    """
    text = decode(source.read())
    try:
        value = _DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError as error:
        raise ValueError("nested too deeply; a record is a flat JSON object") from error
    except json.JSONDecodeError as error:
        if not _is_lines(text):
            raise ValueError(f"not valid JSON: {error}") from error
        yield from read_records(source)
        return
    if isinstance(value, dict):
        if "text" in value:
            yield Record(source.name, value)
            return
        lists = [entry for entry in value.values() if isinstance(entry, list) and entry]
        if len(lists) != 1 or not isinstance(lists[0][0], dict):
            raise ValueError(
                "an array of records {id?, title?, text, ...}, or one such record, was wanted; an object "
                f"with the fields {', '.join(map(repr, list(value)[:5])) or 'of none'} arrived"
            )
        value = lists[0]
    if not isinstance(value, list) or not value:
        arrived = _kind(value) if value else "an empty one"
        raise ValueError(f"an array of records {{id?, title?, text, ...}} was wanted, {arrived} arrived")
    for number, fields in enumerate(value, 1):
        where = f"{source.name}:{number}"
        if isinstance(fields, dict):
            yield Record(where, fields)
        else:
            yield Problem(where, f"a JSON object was wanted, {_kind(fields)} arrived")


def _is_lines(text: str) -> bool:
    """Tell whether the first line that is not blank is a JSON object by itself."""
    line = text.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        return isinstance(_DECODER.decode(line.strip()), dict)
    except (ValueError, RecursionError):
        return False


def _lines(source: Source) -> Iterator[tuple[int, bytes | str]]:
    """Yield the lines with their numbers; bytes are UTF-8, or should be."""
    with source.open() as stream:
        sample = stream.read(SAMPLE_BYTES)
        stream.seek(0)
        if sample[:2] in _UTF16:
            with io.TextIOWrapper(stream, encoding="utf-16", newline="\n") as text:
                yield from enumerate(text, 1)
            return
        encoding = _chinese(sample)
        for number, line in enumerate(stream, 1):
            if encoding is not None:
                try:
                    yield number, line.decode(encoding)
                    continue
                except UnicodeDecodeError:
                    pass  # told as what it is not: UTF-8
            yield number, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


def _chinese(sample: bytes) -> str | None:
    """Return GB18030 or Big5 where a sample of lines is in it; one bad line of UTF-8 makes it neither."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return chinese_encoding(sample, is_whole=False)
    return None


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
