"""Numbered citations in a model's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["citations_inside", "cited_numbers", "rewrite_citations", "without_citations"]

_NUMBERS = r"\^?\d{1,4}(?:\s*(?:[,，、;；]|[-–~至到])\s*\^?\d{1,4})*"
_CITATION = re.compile(rf"[ \t]*(?:\[\s*{_NUMBERS}\s*\](?!\()|[【［]\s*{_NUMBERS}\s*[】］])")
_BEHIND_STOP = re.compile(rf"(?P<stop>[.!?。！？]+)(?P<cited>(?:{_CITATION.pattern})+)(?=\s|\Z)")
_PART = re.compile(r"(\d+)(?:\s*[-–~至到]\s*\^?(\d+))?")
_MOST_IN_RANGE = 50


def cited_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers that a text cites, in order of first mention, each once.

    Parameters
    ----------
    text
        Cites passages as `[1]`, `[1, 3]`, `[2-4]` or in full-width brackets.
    """
    numbers: dict[int, None] = {}
    for match in _CITATION.finditer(text):
        numbers.update(dict.fromkeys(_numbers(match.group())))
    return tuple(numbers)


def citations_inside(text: str) -> str:
    """Return a text whose citations stand before the full stop of their sentence, not behind it."""
    return _BEHIND_STOP.sub(lambda match: f"{match['cited']}{match['stop']}", text)


def without_citations(text: str) -> str:
    """Return a text without its citations."""
    return _CITATION.sub("", text)


def rewrite_citations(text: str, renumber: Callable[[int], int | None]) -> str:
    """Return a text with other numbers in its citations.

    Parameters
    ----------
    text
        Cites passages by number.
    renumber
        Old number -> new number, or None where the citation is to go.
    """

    def rewritten(match: re.Match[str]) -> str:
        renumbered = (renumber(number) for number in _numbers(match.group()))
        numbers = dict.fromkeys(number for number in renumbered if number is not None)
        if not numbers:
            return ""
        blank = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{blank}[{', '.join(str(number) for number in numbers)}]"

    return _CITATION.sub(rewritten, text)


def _numbers(citation: str) -> list[int]:
    numbers: list[int] = []
    for first, last in _PART.findall(citation):
        end = min(int(last or first), int(first) + _MOST_IN_RANGE)
        numbers += range(int(first), end + 1)
    return numbers
