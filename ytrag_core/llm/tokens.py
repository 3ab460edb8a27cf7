"""How many tokens a text makes, without any model's tokeniser."""

from __future__ import annotations

import math
import re

__all__ = ["estimate_tokens"]

_PIECE = re.compile(
    r"(?P<word>[a-z]+|[A-Z](?![A-Za-z]))"
    r"|(?P<name>[A-Z][a-z]+)"
    r"|(?P<capitals>[A-Z]+)"
    r"|(?P<digits>[0-9]+)"
    r"|(?P<marks>[!-/:-@\[-`{-~]+)"
    r"|(?P<newline>[ \t\r]*\n\s*)"
    r"|(?P<space>\s+)"
    r"|(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+)"
    r"|(?P<wide>[\u2010-\u206f\u2e80-\u33ff\uff00-\uffef]+)"
    r"|(?P<latin>[\u00a1-\u024f]+)"
    r"|(?P<letters>[\u0250-\u1fff\ua000-\ud7ff]+)"
    r"|(?P<other>.)",
    re.DOTALL,
)
# Tokens of a piece: the first number, and for each character beyond so many the second.
_COSTS = {
    "word": (1.15, 5, 0.25),
    "name": (1.45, 7, 0.45),
    "capitals": (1.3, 2, 0.3),
    "digits": (1.65, 1, 0.67),
    "marks": (1.15, 1, 1.05),
    "newline": (0.6, 8, 0.06),
    "space": (0.0, 1, 0.5),
    "han": (1.2, 1, 1.2),
    "wide": (1.0, 1, 1.0),
    "latin": (0.6, 1, 0.6),
    "letters": (1.5, 1, 1.1),
    "other": (2.0, 1, 0.0),
}


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens that is rather too high than too low.

    Parameters
    ----------
    text
        English, Chinese, code, JSON; of other scripts the estimate is rough, and high.

    Returns
    -------
    int
        0 for the empty text.

    Notes
    -----
    The costs were fitted as an upper quantile (0.995) of what three tokenisers of different kinds need at
    most, WordPiece (English), Unigram (100 languages) and byte pairs (200,000 tokens): of passages it is
    about 5 to 25 % above the largest of the three. Old byte-pair vocabularies of 100,000 tokens need about a
    tenth more for Chinese, less for all else.
    """
    total = 0.0
    for match in _PIECE.finditer(text):
        first, free, more = _COSTS[match.lastgroup or "other"]
        beyond = match.end() - match.start() - free
        total += first + more * beyond if beyond > 0 else first
    return math.ceil(total)
