"""Titles and headings of Markdown and plain text, and the breadcrumb that a place in a text stands under."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from ytrag_core.documents.line_windows import line_windows
from ytrag_core.documents.model import Heading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = [
    "LONGEST_HEADING",
    "START",
    "Breadcrumbs",
    "markdown_headings",
    "markdown_title",
    "page_at",
    "text_headings",
]

LONGEST_HEADING = 300

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[^\S\n]*$", re.MULTILINE)
_FRONT_MATTER = re.compile(r"---[^\S\n]*\n(.*?)^(?:---|\.\.\.)[^\S\n]*$", re.MULTILINE | re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_MARKDOWN = re.compile(
    r"""
      ^[ ]{0,3} (?P<marks> \#{1,6} ) [^\S\n]++ (?P<atx> .+ ) $
    | ^[ ]{0,3} (?P<setext> \S.* ) \n [ ]{0,3} (?P<line> =+ | -{2,} ) [^\S\n]* $
    """,
    re.MULTILINE | re.VERBOSE,
)
_CLOSING = re.compile(r"(?<!\s)\s++#++$")
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+|(?<!\w)_+|_+(?!\w)|<[^>]+>|\{#[^}]*\}")
_CHAPTER = re.compile(
    r"""
    ^ [^\S\n]* (?: 第 [〇零一二三四五六七八九十百千\d]{1,7} (?P<han> [部卷篇编回章节] ) [^\n。，；]{0,40}
        | (?P<latin> Chapter|CHAPTER|Part|PART|Book|BOOK|STAVE ) [ ] (?: \d+ | [IVXLC]+ ) \b [^\n]{0,60}
      ) $
    """,
    re.MULTILINE | re.VERBOSE,
)
_LEVELS = {**dict.fromkeys("部卷篇编", 1), **dict.fromkeys("回章", 2), "节": 3, "part": 1, "book": 1}
START = 100_000
"""So much of a Markdown text is looked at for its title and front matter."""


def markdown_title(text: str) -> str:
    """Return the title of the front matter, else the first heading, else nothing.

    Parameters
    ----------
    text
        Markdown with line feeds as line ends; its first `START` characters are looked at.
    """
    body = text[:START]
    front = _FRONT_MATTER.match(body)
    if front is not None:
        titled = _FRONT_TITLE.search(front[1])
        title = "" if titled is None else _unquoted(titled[1].strip())[:LONGEST_HEADING].strip()
        if title:
            return title
    first = next(_markdown([body]), None)
    return "" if first is None else first.text


def markdown_headings(pieces: Iterable[str]) -> tuple[Heading, ...]:
    """Return the headings of a Markdown text, those in fenced code left out.

    Parameters
    ----------
    pieces
        Markdown with line feeds as line ends, as one piece or as several.
    """
    return tuple(_markdown(pieces))


def text_headings(pieces: Iterable[str]) -> tuple[Heading, ...]:
    """Return the lines of a plain text that name a part, chapter or section, in English or Chinese.

    Parameters
    ----------
    pieces
        Any text with line feeds as line ends, as one piece or as several.
    """
    headings = []
    for offset, text in line_windows(pieces):
        for match in _CHAPTER.finditer(text):
            line = match[0].strip()
            level = _LEVELS.get(match["han"] or match["latin"].lower(), 2)
            start = offset + match.end() - len(match[0].lstrip())
            headings.append(Heading(start, level, " ".join(line.split())))
    return tuple(headings)


def page_at(pages: Sequence[int], offset: int) -> int | None:
    """Return the page, from 1, that a place in a text is on; None where the text has no pages.

    Parameters
    ----------
    pages
        Offsets at which the pages start, ascending.
    offset
        A place in the text.
    """
    return max(1, bisect_right(pages, offset)) if pages else None


class Breadcrumbs:
    """What headings the places of a text stand under; places are asked for in ascending order.

    Parameters
    ----------
    headings
        Ascending by their offsets.
    """

    def __init__(self, headings: Sequence[Heading]) -> None:
        self._headings = headings
        self._next = 0
        self._open: list[Heading] = []

    def at(self, offset: int) -> str:
        """Return the headings above a place, outermost first, joined by ` > `."""
        while self._next < len(self._headings) and self._headings[self._next].start <= offset:
            heading = self._headings[self._next]
            while self._open and self._open[-1].level >= heading.level:
                self._open.pop()
            self._open.append(heading)
            self._next += 1
        return " > ".join(heading.text for heading in self._open)


def _markdown(pieces: Iterable[str]) -> Iterator[Heading]:
    fences = _Fences()
    for offset, text in line_windows(pieces, _UNDERLINE, beginning=START):
        front = None if offset else _FRONT_MATTER.match(text[:START])
        start = 0 if front is None else front.end()
        code = iter(fences.spans(text, start))
        span = next(code, None)
        for match in _MARKDOWN.finditer(text, start):
            while span is not None and span[1] <= match.start():
                span = next(code, None)
            if span is not None and span[0] <= match.start():
                continue
            line = _CLOSING.sub("", (match["atx"] or match["setext"]).rstrip())[:LONGEST_HEADING]
            said = " ".join(_INLINE.sub(r"\1", line).split())
            if said:
                level = len(match["marks"]) if match["marks"] else 1 + (match["line"][0] == "-")
                yield Heading(offset + match.start(), level, said)


class _Fences:
    """Where fenced code lies in a text that comes in windows of whole lines."""

    def __init__(self) -> None:
        self._mark = ""  # of the code that the last window ended in

    def spans(self, text: str, start: int) -> list[tuple[int, int]]:
        """Return the offsets of fenced code in the next window, from `start` on."""
        spans, opened = [], 0
        for match in _FENCE.finditer(text, start):
            if not self._mark:
                self._mark, opened = match[1], match.start()
            elif match[1].startswith(self._mark):
                spans.append((opened, match.end()))
                self._mark = ""
        if self._mark:
            spans.append((opened, len(text)))
        return spans


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
