"""Tells whether a query only repeats an earlier one."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["repeats"]

_OVERLAP = 0.8
_NUMBER = re.compile(r"\d+")
_ASKING = {"who", "whom", "whose", "what", "which", "when", "where", "why", "how", "did", "does"}
_CAPITALISED = re.compile(r"\b[A-Z][^\W_]+")


def repeats(query: str, asked: Iterable[str], same_meaning: Callable[[str, str], bool] | None = None) -> bool:
    """Return whether a query is the same as, or nearly the same as, one that was asked.

    Parameters
    ----------
    query
        The new one.
    asked
        The earlier ones.
    same_meaning
        Compares the vectors of two queries; without it their words alone are compared.

    Returns
    -------
    bool
        True when the words are the same, when four in five of all their words are shared, or when the
        vectors say so; never when the two name different numbers or names.
    """
    words = set(lexical_tokens(query))
    for other in asked:
        if _folded(query) == _folded(other):
            return True
        others = set(lexical_tokens(other))
        if _telling(query, others) or _telling(other, words):
            continue
        if len(words & others) >= _OVERLAP * max(1, len(words | others)):
            return True
        if same_meaning is not None and same_meaning(query, other):
            return True
    return False


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", " ", unicodedata.normalize("NFKC", text).casefold()).split())


def _telling(text: str, words: set[str]) -> bool:
    """Return whether a text has a name or number that is not among some words."""
    capitalised = " ".join(_CAPITALISED.findall(text))
    named = [word for word in lexical_tokens(capitalised) if word not in _ASKING]
    return not {*named, *(token for token in lexical_tokens(text) if _NUMBER.search(token))} <= words
