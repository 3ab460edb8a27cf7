"""Numbered citations in a model's text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["resolve_citations"]

_NUMBERS = r"\^?\d{1,4}(?:\s*(?:[,，、;；]|[-–~至到])\s*\^?\d{1,4})*"
_CITATION = re.compile(rf"[ \t]*(?:\[\s*{_NUMBERS}\s*\](?!\()|[【［]\s*{_NUMBERS}\s*[】］])")
_PART = re.compile(r"(\d+)(?:\s*[-–~至到]\s*\^?(\d+))?")


def resolve_citations(text: str, chunk_ids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return a text whose citations are renumbered in order of first mention, and the chunks they stand for.

    Parameters
    ----------
    text
        Cites passages as `[1]`, `[1, 3]`, `[2-4]` or in full-width brackets.
    chunk_ids
        Number n stands for `chunk_ids[n - 1]`.

    Returns
    -------
    text : str
        Number n now stands for the n-th chunk returned. Citations of passages that do not exist are gone.
    chunk_ids : tuple of str
        Each cited chunk once.
    """
    order: dict[str, int] = {}

    def renumbered(match: re.Match[str]) -> str:
        numbers: dict[int, None] = {}
        for first, last in _PART.findall(match.group()):
            for number in range(int(first), min(int(last or first), len(chunk_ids)) + 1):
                if 1 <= number <= len(chunk_ids):
                    numbers[order.setdefault(chunk_ids[number - 1], len(order) + 1)] = None
        if not numbers:
            return ""
        blank = match.group()[: len(match.group()) - len(match.group().lstrip())]
        return f"{blank}[{', '.join(str(number) for number in numbers)}]"

    return _CITATION.sub(renumbered, text).strip(), tuple(order)
