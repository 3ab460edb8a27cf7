"""Lines of PDF pages to one text: running heads dropped, lines joined to paragraphs, headings recognised."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ytrag_core.documents.builder import CJK, TextBuilder
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.documents.pdf_layout import Line

__all__ = ["Bookmark", "compose", "without_running_heads"]

_EDGE_LINES = 3
_SAME_HEIGHT = 6.0
_DIGITS = re.compile(r"\d+|\b[ivxlc]+\b", re.IGNORECASE)
_PAGE_NUMBER = re.compile(
    r"[-–—·.\s]*(?:第?\s*\d{1,4}\s*页?(?:\s*[,，/]?\s*共\s*\d+\s*页)?|page\s+\d+(?:\s+of\s+\d+)?)[-–—·.\s]*",
    re.IGNORECASE,
)
_WIDE_END = re.compile(f"[{CJK}]$")
_WIDE_START = re.compile(f"^[{CJK}]")
_STOP = re.compile(r"""[.!?。！？：:;；…]["'”’」』）)\]]*$""")
_BROKEN = re.compile(r"(?P<first>[^\W\d_]+)[-\u2010\u00ad]$")
_NEXT = re.compile(r"(?P<second>[^\W\d_]+)")
_NUMBERED = re.compile(
    r"(?P<latin>\d{1,2}(?:\.\d{1,2}){0,3})\.?\s+[A-Z].{1,100}(?<![.,;:])$|[一二三四五六七八九十]{1,3}、[^。；，]{1,24}$"
)
_CAPTION = re.compile(r"(?:fig(?:ure|\.)|table|图|圖|表)\s*\d", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_ALNUM = re.compile(r"[\W_]+")
_SOFT = "\u00ad"
_LONGEST = 160


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a PDF's outline: page and level from 1, and title."""

    page: int
    level: int
    title: str


def without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the pages without the lines at their edges that other pages have too, and page numbers.

    Parameters
    ----------
    pages
        The lines of each page, in reading order.

    Notes
    -----
    Numbers count as equal. A line goes if the same text stands at the same height at the edge of a third of
    the pages or of four, two at least, and all lines between it and the edge go too.
    """
    edges = [_edges(lines) for lines in pages]
    heights: dict[tuple[str, int], list[float]] = {}
    for page in edges:
        for side, lines in enumerate(page):
            for line in lines:
                heights.setdefault((_key(line), side), []).append(line.y0)
    needed = max(2, min(4, math.ceil(len(pages) / 3)))
    kept = []
    for all_lines, page in zip(pages, edges, strict=True):
        dropped: set[int] = set()
        for side, edge in enumerate(page):
            for depth, line in enumerate(edge):
                known = heights[_key(line), side]
                n_same = sum(abs(height - line.y0) <= _SAME_HEIGHT for height in known)
                is_number = depth == 0 and len(line.text) < 24 and _PAGE_NUMBER.fullmatch(line.text)
                if n_same < needed and not is_number:
                    break
                dropped.add(id(line))
        kept.append([line for line in all_lines if id(line) not in dropped])
    return kept


def _edges(lines: Sequence[Line]) -> tuple[list[Line], list[Line]]:
    """Return the first and the last lines of a page by height, outermost first; never more than half."""
    by_height = sorted(lines, key=lambda line: -line.y0)
    n = min(_EDGE_LINES, (len(by_height) + 1) // 2)
    return by_height[:n], by_height[::-1][:n]


def _key(line: Line) -> str:
    return _DIGITS.sub("#", " ".join(line.text.split()).lower())


def compose(pages: Sequence[Sequence[Line]], bookmarks: Sequence[Bookmark]) -> tuple[TextBuilder, str]:
    """Return the text of all pages with its headings and page offsets, and what is set biggest on page 1.

    Parameters
    ----------
    pages
        The lines of each page, in reading order, without running heads.
    bookmarks
        The outline; where there is none, headings are told by their type and numbers.
    """
    lines = [line for page in pages for line in page]
    writer = _Writer(lines, bookmarks)
    for page in pages:
        for paragraph in _paragraphs(page, writer.pitch):
            writer.paragraph(paragraph)
    writer.finish()
    writer.begin_pages(len(pages))
    return writer.builder, _biggest(pages[0] if pages else [], writer.size)


def _paragraphs(lines: Sequence[Line], pitch: float) -> list[list[Line]]:
    paragraphs: list[list[Line]] = []
    for line in lines:
        if paragraphs and _goes_on(paragraphs[-1], line, pitch):
            paragraphs[-1].append(line)
        else:
            paragraphs.append([line])
    return paragraphs


def _goes_on(paragraph: list[Line], line: Line, pitch: float) -> bool:
    """Tell whether a line belongs to the paragraph before it."""
    last = paragraph[-1]
    if last.is_row or line.is_row:
        return last.is_row and line.is_row and last.column == line.column
    if abs(last.size - line.size) > 0.12 * last.size or last.is_bold != line.is_bold:
        return False
    if last.column != line.column:
        return False
    distance = last.y0 - line.y0
    if not 0 < distance <= 1.4 * max(pitch, line.size):
        return False
    width = last.column[1] - last.column[0]
    is_short = last.x1 < last.column[1] - 0.2 * width
    is_indented = min(line.x0 - last.x0, line.x0 - last.column[0]) > 0.9 * line.size
    if is_indented and (is_short or _STOP.search(last.text)):
        return False
    return not (is_short and (_STOP.search(last.text) or len(paragraph) == 1 or not line.text[:1].islower()))


def _biggest(lines: Sequence[Line], size: float) -> str:
    """Return the lines in the biggest type of a page, if that is bigger than running text."""
    top = max((line.size for line in lines if len(line.text) > 3), default=0.0)
    if top < 1.15 * size:
        return ""
    chosen = [line for line in lines if line.size > 0.95 * top and len(line.text) > 3][:4]
    title = chosen[0].text
    for line in chosen[1:]:
        title += ("" if _WIDE_END.search(title) and _WIDE_START.search(line.text) else " ") + line.text
    return " ".join(title.split())[:_LONGEST]


class _Writer:
    """Writes paragraphs; one that goes on in the next column or on the next page is written as one."""

    def __init__(self, lines: Sequence[Line], bookmarks: Sequence[Bookmark]) -> None:
        self.builder = TextBuilder()
        sizes: Counter[float] = Counter()
        bold: Counter[bool] = Counter()
        for line in lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
            bold[line.is_bold] += len(line.text)
        self.size = sizes.most_common(1)[0][0] if sizes else 0.0
        self._is_bold = bool(bold) and bold.most_common(1)[0][0]
        pitches = Counter(
            round((first.y0 - second.y0) * 2) / 2
            for first, second in pairwise(lines)
            if first.column == second.column and 0 < first.y0 - second.y0 < 4 * self.size
        )
        self.pitch = pitches.most_common(1)[0][0] if pitches else 1.2 * self.size
        bigger = sorted({size for size in sizes if size >= 1.12 * self.size}, reverse=True)
        self._levels = {size: min(level, 3) for level, size in enumerate(bigger, 1)}
        self._marks: dict[int, list[Bookmark]] = {}
        for mark in bookmarks:
            self._marks.setdefault(mark.page, []).append(mark)
        self._words = Counter(word.lower() for line in lines for word in _WORD.findall(line.text))
        self._held: list[Line] = []

    def begin_pages(self, number: int) -> None:
        """Begin all pages up to a number; those without text start where the next text does."""
        while len(self.builder.pages) < number:
            self.builder.page()

    def paragraph(self, lines: list[Line]) -> None:
        """Take the next paragraph; it is written as soon as it is known to have ended."""
        if self._held and self._continues(lines[0]):
            self._held += lines
            return
        self.finish()
        self._held = list(lines)

    def finish(self) -> None:
        """Write what is held."""
        held, self._held = self._held, []
        if not held:
            return
        self.begin_pages(held[0].page)
        level = self._level(held)
        if level:
            self.builder.heading(level, self._joined(held)[0])
            return
        self.builder.paragraph()
        if held[0].is_row:
            for line in held:
                self.builder.line()
                self.builder.add(line.text)
            return
        text, turns = self._joined(held)
        self.builder.add(text)
        start = self.builder.n_characters - len(text)
        self.builder.pages += [start + turn for turn in turns]

    def _continues(self, line: Line) -> bool:
        """Tell whether a line in another column or on another page goes on with the paragraph held."""
        last = self._held[-1]
        if last.is_row or line.is_row or (last.page == line.page and last.column == line.column):
            return False
        if abs(last.size - line.size) > 0.05 * last.size or last.is_bold != line.is_bold:
            return False
        if _STOP.search(last.text) or line.page > last.page + 1:
            return False
        is_full = last.x1 >= last.column[1] - 0.1 * (last.column[1] - last.column[0])
        is_flush = line.x0 - line.column[0] < 0.9 * line.size
        return is_full and is_flush and bool(line.text[:1].islower() or _WIDE_START.search(line.text))

    def _joined(self, lines: Sequence[Line]) -> tuple[str, list[int]]:
        """Return the lines as one text, and the offsets in it at which another page begins."""
        text, turns, page = "", [], lines[0].page
        for line in lines:
            said = clean_text(line.text[:-1].replace(_SOFT, "") + line.text[-1:])
            text = self._with_next(text, said) if text else said
            if line.page != page:
                turns.append(len(text) - len(said))
                page = line.page
        return text.rstrip(_SOFT), turns

    def _with_next(self, text: str, following: str) -> str:
        broken = _BROKEN.search(text)
        start = _NEXT.match(following)
        if broken is not None and start is not None and (text[-1] == _SOFT or start["second"][0].islower()):
            first, second = broken["first"].lower(), start["second"].lower()
            with_hyphen = self._words[f"{first}-{second}"]
            is_compound = with_hyphen > self._words[first + second]
            return f"{text[:-1]}{'-' if is_compound else ''}{following}"
        if text[-1:] in "-\u2010/" and text[-2:-1].strip():
            return text + following
        is_wide = _WIDE_END.search(text) and _WIDE_START.search(following)
        return f"{text}{'' if is_wide else ' '}{following}"

    def _level(self, lines: list[Line]) -> int:
        """Return the level of a heading, 0 for what is none."""
        said = " ".join(line.text for line in lines)
        if lines[0].is_row or len(said) > _LONGEST or not _ALNUM.sub("", said) or _CAPTION.match(said):
            return 0
        if self._marks:
            return self._marked(lines[0].page, said)
        numbered = _NUMBERED.fullmatch(said)
        size = round(lines[0].size * 2) / 2
        if len(lines) <= 3 and size in self._levels and not _STOP.search(said):
            return self._levels[size]
        is_strong = lines[0].is_bold and not self._is_bold
        if len(lines) > 2 or not (is_strong or numbered) or (_STOP.search(said) and not numbered):
            return 0
        below = max(self._levels.values(), default=0) + 1
        depth = numbered["latin"].count(".") if numbered and numbered["latin"] else 0
        return min(below + depth, 6)

    def _marked(self, page: int, said: str) -> int:
        plain = _ALNUM.sub("", said).lower()
        marks = self._marks.get(page, [])
        for mark in marks:
            title = _ALNUM.sub("", mark.title).lower()
            if title and (plain == title or (plain.endswith(title) and len(plain) <= len(title) + 8)):
                marks.remove(mark)
                return mark.level
        return 0
