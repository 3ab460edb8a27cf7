"""Which values are literals: dates, numbers and quantities become attribute nodes, not entities."""

from __future__ import annotations

import re

__all__ = ["is_literal"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_ERA = r"\s*(?:bc|bce|ad|ce)"
_YEAR = rf"(?:\d{{1,4}}{_ERA}|\d{{3,4}})"
_NUMBER = r"[+-]?(?:\d{1,3}(?:[, ]\d{3})+|\d+)(?:\.\d+)?"
_CHINESE_NUMBER = r"[\d〇零一二三四五六七八九十百千万亿两]+"
_LITERAL = re.compile(
    "|".join(
        [
            rf"(?:about |around |c\. ?|ca\. ?|circa |early |mid-? ?|late )?{_YEAR}s?",
            rf"(?:early |mid |late )?(?:\d{{1,2}} )?{_MONTH}(?: \d{{1,2}}(?:st|nd|rd|th)?)?(?:,? {_YEAR})?",
            rf"{_YEAR}\s*-\s*(?:\d{{2,4}}(?:{_ERA})?|present)",
            r"\d{4}-\d{2}(?:-\d{2})?",
            rf"[$€£¥]?\s?{_NUMBER}\s?%?(?:\s(?:percent|per cent|thousand|million|billion|trillion))?",
            rf"{_NUMBER}\s?(?:km|kilometres?|kilometers?|m|metres?|meters?|miles?|feet|ft|kg|tons?|tonnes?|years?"
            r"|days?|hours?|minutes?|people|inhabitants|km2|km²|acres?|hectares?)",
            rf"\d{{1,2}}(?:st|nd|rd|th) century(?:{_ERA})?",
            rf"(?:公元前|公元|约)?{_CHINESE_NUMBER}(?:年(?:{_CHINESE_NUMBER}月)?(?:{_CHINESE_NUMBER}[日号])?|世纪)",
            rf"{_CHINESE_NUMBER}月(?:{_CHINESE_NUMBER}[日号])?",
            r"[\d.,]+\s?(?:万|亿|元|人|米|公里|千米|平方公里|吨|公斤|岁|个|座|%|％)+",
        ]
    )
)


def is_literal(key: str) -> bool:
    """Return whether a normalised key is a date, a number or a quantity rather than a name.

    Parameters
    ----------
    key
        As `ytrag_core.graph.normalise.entity_key` gives it (case-folded).
    """
    return _LITERAL.fullmatch(key) is not None
