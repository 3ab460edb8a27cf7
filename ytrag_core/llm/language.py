"""The language that a text is in, and that is talked about it."""

from __future__ import annotations

import re
from typing import Literal, get_args

__all__ = ["LANGUAGES", "Language", "question_language"]

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")


def question_language(text: str) -> Language:
    """Return `zh` when the text has at least as many Chinese characters as Latin words, else `en`."""
    n_cjk = len(_CJK.findall(text))
    return "zh" if n_cjk and n_cjk >= len(_WORD.findall(text)) else "en"
