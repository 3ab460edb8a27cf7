"""How many tokens a text makes, without any model's tokeniser."""

from __future__ import annotations

import re

__all__ = ["estimate_tokens"]

_PIECE = re.compile(
    r"(?P<word>[A-Za-z]+)|(?P<digits>[0-9]+)|(?P<space>\s+)|(?P<ascii>[!-/:-@\[-`{-~])"
    r"|(?P<cjk>[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef])|(?P<latin>[\u00a1-\u052f]+)|(?P<other>.)",
    re.DOTALL,
)


def estimate_tokens(text: str) -> int:
    """Return an estimate of a text's tokens that is rather too high than too low.

    Parameters
    ----------
    text
        English, Chinese, code, anything.
    """
    total = 0.0
    for match in _PIECE.finditer(text):
        length = match.end() - match.start()
        match match.lastgroup:
            case "word":
                total += 1.0 + max(0, length - 6) / 5.0
            case "digits":
                total += length / 2.0
            case "space":
                total += max(0.0, (length - 1) / 4.0)
            case "ascii":
                total += 1.0
            case "cjk":
                total += 1.1
            case "latin":
                total += length / 1.8
            case _:
                total += 2.5
    return int(total + 0.999)
