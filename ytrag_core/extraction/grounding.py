"""Whether a passage names what a model says it names: small models repeat the example of their prompt."""

from __future__ import annotations

import re

__all__ = ["grounded"]

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
