"""The language that a text is in, and that is talked about it."""

from __future__ import annotations

import re
from typing import Literal, get_args

__all__ = ["LANGUAGES", "Language", "question_language"]

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)

_CJK = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_ASKED_IN_CHINESE = re.compile(r"[谁哪何几吗呢么的是了在和请怎吧啊为与]|多少")
_ASKED_IN_ENGLISH = re.compile(
    r"\b(?:who|whom|whose|what|when|where|which|why|how|is|are|was|were|did|does|do|has|have|can|the|of|in|and"
    r"|please)\b",
    re.IGNORECASE,
)


def question_language(text: str) -> Language:
    """Return the language that a text is in, `zh` or `en`, whatever names of the other it has.

    Parameters
    ----------
    text
        A question, or any text. Words that a language does not do without decide; where both or neither have
        any, it is Chinese with at least as many Chinese characters as Latin words.
    """
    n_cjk = len(_CJK.findall(text))
    if not n_cjk:
        return "en"
    chinese, english = _ASKED_IN_CHINESE.search(text), _ASKED_IN_ENGLISH.search(text)
    if bool(chinese) is not bool(english):
        return "zh" if chinese else "en"
    return "zh" if n_cjk >= len(_WORD.findall(text)) else "en"
