"""What can still be read of a reply that is no proper JSON: record by record, in the usual notations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ytrag_core.errors import ReplyError
from ytrag_core.extraction.tolerant import Records, read_records
from ytrag_core.llm.chat import strip_reasoning
from ytrag_core.llm.structured import json_from_reply

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["breaks_off", "salvage_records"]

_OBJECT = re.compile(r"\{[^{}]*\}")
_ARRAY = re.compile(r"\[\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*(?:,\s*(?:\"[^\"\n]*\"|'[^'\n]*')\s*){2}\]")
_TUPLE = re.compile(
    r"\(\s*[\"“”']?(?P<kind>entity|relationship|relation|实体|关系)[\"“”']?\s*<\|>(?P<rest>.*?)"
    r"(?=\s*\)\s*(?:##|<\||\n|\Z)|\s*##|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_DELIMITER = "<|>"
_JSON_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|["\[\]{}]', re.DOTALL)
_ARROW = re.compile(
    r"^(?:\W*\d{1,3}[.)、]\s)?\W*(?P<head>[^\n|→;；<>(){}]{1,80}?)\s*(?:-+>|-+\[?|—+|→|\|)\s*(?P<relation>[^\n|→;；<>(){}\[\]]{1,80}?)\s*"
    r"(?:\]?-+>|→|\|)\s*(?P<tail>[^\n|→;；<>(){}]{1,120}?)\s*\|?\s*$",
    re.MULTILINE,
)
_PARENTHESES = re.compile(
    r"^(?:\W*\d{1,3}[.)、]\s)?\W*[(（](?P<head>[^\n(),，;；]{1,80})[,，;；]\s*(?P<relation>[^\n(),，;；]{1,80})[,，;；]\s*"
    r"(?P<tail>[^\n();；]{1,120})[)）]\W*$",
    re.MULTILINE,
)
_RULE = re.compile(r"[\s:|-]*")
_TABLE_HEADS = frozenset({"head", "subject", "source", "entity", "头实体", "主语", "实体"})


def salvage_records(raw: str) -> Records | None:
    """Return what can be read of a reply, or None where there is nothing.

    Parameters
    ----------
    raw
        The reply: prose with JSON in it, half a JSON, records in tuple notation
        (`("entity"<|>name<|>type<|>description)`), rows of a table, arrows, or triples in brackets.

    Notes
    -----
    The notations are tried in this order, and the first that gives a record counts: mixing them would read
    one statement twice.
    """
    text = strip_reasoning(raw)
    for read in (_tuples, _whole_json, _json_pieces, _lines):
        records = read(text)
        if records is not None and len(records):
            return records
    return None


def breaks_off(raw: str) -> bool:
    """Return whether the JSON of a reply ends before it is closed.

    Parameters
    ----------
    raw
        The reply.

    Notes
    -----
    Not every endpoint says that it has cut a reply, and what is left of it can be read well: it would go
    unnoticed that half of it is missing.
    """
    text = strip_reasoning(raw)
    start = text.find("{")
    depth = 0
    for match in _JSON_MARK.finditer(text, max(start, 0)):
        mark = match[0]
        if mark[0] == '"':
            if len(mark) == 1:  # a string that never ends
                return True
        else:
            depth += 1 if mark in "[{" else -1
            if depth <= 0:
                return False
    return start >= 0


def _whole_json(text: str) -> Records | None:
    try:
        return read_records(json_from_reply(text))
    except ReplyError:
        return None


def _json_pieces(text: str) -> Records:
    """Read each innermost object or array by itself."""
    records = Records()
    for match in _pieces(text):
        try:
            records.add_any(json_from_reply(match))
        except ReplyError:
            records.refuse(match, "no JSON")
    return records


def _pieces(text: str) -> Iterator[str]:
    found = [*_OBJECT.finditer(text), *_ARRAY.finditer(text)]
    taken = -1
    for match in sorted(found, key=lambda match: match.start()):
        if match.start() >= taken:
            taken = match.end()
            yield match[0]


def _tuples(text: str) -> Records | None:
    """Read records of the form `("entity"<|>name<|>type<|>description)`, whole or broken off."""
    if _DELIMITER not in text:
        return None
    records = Records()
    for match in _TUPLE.finditer(text):
        parts = [part.strip(" \t\r\n\"'“”()#") for part in match["rest"].split(_DELIMITER)]
        if match["kind"].casefold() in ("entity", "实体"):
            if len(parts) < 2 or parts[1].startswith("|"):
                records.refuse(match[0], "an entity that breaks off")
            else:
                records.add_entity({"name": parts[0], "type": parts[1]})
        elif len(parts) < 3:
            records.refuse(match[0], "a relation that breaks off")
        else:
            records.add_triple({"head": parts[0], "relation": parts[2], "tail": parts[1]})
    return records


def _lines(text: str) -> Records:
    """Read lines like `head --relation--> tail`, `| head | relation | tail |` or `(head, relation, tail)`."""
    records = Records()
    for pattern in (_PARENTHESES, _ARROW):
        for match in pattern.finditer(text):
            head, relation, tail = (match[name].strip(" \"'“”*`") for name in ("head", "relation", "tail"))
            if _RULE.fullmatch(head) or head.casefold() in _TABLE_HEADS:
                continue
            records.add_triple({"head": head, "relation": relation, "tail": tail})
        if len(records):
            break
    return records
