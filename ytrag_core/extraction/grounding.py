"""Whether a passage names what a model says it names: small models repeat the example of their prompt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.extraction.tolerant import Records

__all__ = ["grounded", "runs_on", "used"]

_TAIL = 8

_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_SHORTEST_WORD = 3


def grounded(name: str, passage: str) -> bool:
    """Return whether a name, a word of it, or two Chinese characters of it in a row, stand in a passage.

    Parameters
    ----------
    name
        As the model wrote it.
    passage
        Title and text, case-folded.

    Notes
    -----
    Lenient on purpose: a name may be put together ("Ada and Tom Marrick" gives "Tom Marrick" and "Ada
    Marrick"), spelled out or inflected. What shares no word with the passage was not read there.
    """
    folded = name.casefold()
    if folded in passage:
        return True
    for word in _WORD.findall(folded):
        if _HAN.search(word):
            if any(word[at : at + 2] in passage for at in range(len(word) - 1)):
                return True
        elif (len(word) >= _SHORTEST_WORD or word.isdigit()) and word in passage:
            return True
    return False


def used(alias: str, passage: str) -> bool:
    """Return whether every word of a name, initials left out, stands in a passage (case-folded)."""
    words = [
        word for word in _WORD.findall(alias.casefold()) if _HAN.search(word) or len(word) >= _SHORTEST_WORD
    ]
    return alias.casefold() in passage or (bool(words) and all(word in passage for word in words))


def runs_on(records: Records, passage: str) -> bool:
    """Return whether a reply has left its passage, and would only go on so if it were asked to continue.

    Parameters
    ----------
    records
        What was read of it.
    passage
        Title and text, case-folded.

    Notes
    -----
    Small models fall into lists that never end ("size of weight", "size of weight of area", ...). Of the last
    eight records of a kind more than half then repeat earlier ones or name nothing in the passage.
    """
    kinds: tuple[Sequence[tuple[str, ...]], ...] = (
        [(mention.name,) for mention in records.entities],
        [(head, relation, tail) for head, relation, tail in records.triples],
        [(entity, attribute, value) for entity, attribute, value in records.attributes],
    )
    return any(len(said) >= _TAIL and 2 * _n_lost(said, passage) > _TAIL for said in kinds)


def _n_lost(said: Sequence[tuple[str, ...]], passage: str) -> int:
    """Return how many of the last records repeat earlier ones or name nothing in the passage."""
    start = len(said) - _TAIL
    seen = set(said[:start])
    n_lost = 0
    for record in said[start:]:
        ends = {record[0], record[-1]}
        n_lost += record in seen or not all(grounded(end, passage) for end in ends)
        seen.add(record)
    return n_lost
