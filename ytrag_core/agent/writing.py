"""The answer inside a reply, told while the reply is being written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["AnswerStream"]

_FIELD = re.compile(r'"answer"\s*:\s*"', re.IGNORECASE)
_LABEL = re.compile(
    r"^\W*(?:final answer|answer|最终答案|答案|回答)\W*?[:：]\W*?(?=\w)", re.IGNORECASE | re.MULTILINE
)
_OTHERWISE = re.compile(r'"decision"\s*:\s*"(?:search|refuse)"', re.IGNORECASE)
_LABELLED = re.compile(r"\W*(?:thought|decision|query|search|思考|决定|检索|查询)\W*[:：]", re.IGNORECASE)
_ENOUGH = 24
"""Characters from which plain text is told from JSON and from lines with labels."""
_HIGH_SURROGATE = re.compile(r"\\u[dD][89abAB]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_SENTINEL = "<think"


class AnswerStream:
    """Picks the value of the field `answer` out of JSON that arrives in pieces.

    A reply in plain text is told from its first piece on, or from the label `Answer:` on where it has lines
    with labels.

    Parameters
    ----------
    tell
        Told of each piece of the answer.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._text = ""
        self._at: int | None = None
        self._is_json = False
        self._done = False

    @property
    def has_begun(self) -> bool:
        """Whether any of the reply has arrived."""
        return bool(self._text)

    def feed(self, piece: str) -> None:
        """Take the next piece of the reply."""
        self._text += piece
        if self._done:
            return
        if self._at is None:
            self._at = self._start()
        if self._at is None or self._done:
            return
        said = self._json() if self._is_json else self._plain()
        if said:
            self._tell(said)

    def _start(self) -> int | None:
        text = self._text
        head = text.lstrip()
        if not head or head.startswith(_SENTINEL) or _SENTINEL.startswith(head[:6]):
            end = text.lower().rfind("</think")
            if end < 0:
                return None
            head = text[text.find(">", end) + 1 :].lstrip() if ">" in text[end:] else ""
            if not head:
                return None
        if "{" in head[:20]:
            match = self._answer_field()
            if match is not None:
                self._is_json = True
                return match
            return None
        label = _LABEL.search(text)
        if label:
            return label.end()
        if len(head) < _ENOUGH or head.startswith("```") or _LABELLED.match(head):
            return None
        return len(text) - len(head)

    def _answer_field(self) -> int | None:
        """Return where the answer's value begins: of the reply itself, not of a sub-question."""
        for match in _FIELD.finditer(self._text):
            before = self._text[: match.start()]
            if _depth(before) == 1:
                self._done = _OTHERWISE.search(before) is not None
                return match.end()
        return None

    def _json(self) -> str:
        said: list[str] = []
        at = self._at or 0
        text = self._text
        while at < len(text):
            character = text[at]
            if character == '"':
                self._done = True
                break
            if character != "\\":
                said.append(character)
                at += 1
                continue
            size = _escape_size(text, at)
            if at + size > len(text):
                break
            said.append(_unescaped(text[at : at + size]))
            at += size
        self._at = at
        return "".join(said)

    def _plain(self) -> str:
        said = self._text[self._at :]
        self._at = len(self._text)
        return said


def _escape_size(text: str, at: int) -> int:
    """Return how many characters the escape at a place has; of a pair of surrogates both."""
    if text[at + 1 : at + 2] != "u":
        return 2
    return 12 if _HIGH_SURROGATE.match(text, at) else 6


def _unescaped(escape: str) -> str:
    try:
        value = json.loads(f'"{escape}"')
    except ValueError:
        return escape[1:] if len(escape) == 2 else ""
    return _LONE_SURROGATE.sub("", str(value))


def _depth(text: str) -> int:
    """Return how many brackets are open at the end of a piece of JSON."""
    depth = 0
    quoted = False
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = character == "\\"
            quoted = character != '"'
        elif character == '"':
            quoted = True
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth -= 1
    return depth
