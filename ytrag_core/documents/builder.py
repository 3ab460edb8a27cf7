"""A text put together block by block, with the offsets of its headings and pages."""

from __future__ import annotations

import re

from ytrag_core.documents.headings import LONGEST_HEADING
from ytrag_core.documents.model import Heading
from ytrag_core.documents.text import clean_text

__all__ = ["CJK", "TextBuilder", "joined_lines"]

CJK = r"\u2e80-\u303f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f"
_WRAPPED = re.compile(rf"(?<=[{CJK}])[^\S\n]*\n\s*(?=[{CJK}])")
_SPACE = re.compile(r"\s+")
_BREAKS = ("", " ", "\n", "\n\n")


def joined_lines(text: str) -> str:
    """Return a text as one line: line ends between Chinese characters vanish, other white space is one space.

    Parameters
    ----------
    text
        Any text.
    """
    return _SPACE.sub(" ", _WRAPPED.sub("", text))


class TextBuilder:
    """Collects blocks of text; no white space stands at the start, at the end, or beyond one blank line."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._break = 0
        self._is_glued = False
        self.headings: list[Heading] = []
        self.pages: list[int] = []

    @property
    def n_characters(self) -> int:
        """How many characters there are so far."""
        return self._length

    def space(self) -> None:
        """Separate what comes by a space at least."""
        self._break = max(self._break, 1)

    def line(self) -> None:
        """Begin a line."""
        if not self._is_glued:
            self._break = max(self._break, 2)

    def paragraph(self) -> None:
        """Begin a paragraph."""
        if not self._is_glued:
            self._break = 3

    def item(self) -> None:
        """Begin an item of a list; what comes next stands beside its mark."""
        self.line()
        self.add("-")
        self._break, self._is_glued = 1, True

    def page(self) -> None:
        """Begin a page; it starts where the next text does."""
        self.pages.append(-1)

    def add(self, text: str) -> None:
        """Append a text as it is, after what was asked for to separate it.

        Parameters
        ----------
        text
            Without white space at either end; nothing happens where it is empty.
        """
        text = clean_text(text)
        if not text:
            return
        if self._length and self._break:
            self._parts.append(_BREAKS[self._break])
            self._length += len(_BREAKS[self._break])
        self._break, self._is_glued = 0, False
        self._settle_pages()
        self._parts.append(text)
        self._length += len(text)

    def inline(self, text: str) -> None:
        """Append running text; its white space is single spaces.

        Parameters
        ----------
        text
            As it stands in a source where line ends mean nothing.
        """
        flat = joined_lines(text)
        if flat[:1] == " ":
            self.space()
        self.add(flat.strip(" "))
        if flat[-1:] == " " and len(flat) > 1:
            self.space()

    def heading(self, level: int, text: str) -> None:
        """Append a heading as a paragraph of its own.

        Parameters
        ----------
        level
            1 for the outermost.
        text
            What it says.
        """
        flat = clean_text(joined_lines(text)).strip()
        if not flat:
            return
        self.paragraph()
        self.add(flat)
        start = self._length - len(flat)
        self.headings.append(Heading(start, level, flat[:LONGEST_HEADING]))
        self.paragraph()

    def text(self) -> str:
        """Return the whole text; pages without any start at its end."""
        self._settle_pages()
        return "".join(self._parts)

    def _settle_pages(self) -> None:
        at = len(self.pages) - 1
        while at >= 0 and self.pages[at] < 0:
            self.pages[at] = self._length
            at -= 1
