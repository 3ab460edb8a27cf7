"""Which values are literals: dates, numbers and quantities become attribute nodes, not entities."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["is_literal", "literal_mask"]

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

# RE2, which Arrow runs over whole columns, means ASCII by a digit and by a space. What it calls no literal is
# none, unless there are spaces of another kind or letters of other scripts than those listed.
_CANDIDATE = (
    rf"^(?:{_LITERAL.pattern})$"
    r"|[\n\x0b\x1c-\x1f\x{85}\x{a0}]|[^\x00-\x{5ff}\x{2e80}-\x{9fff}\x{ac00}-\x{d7a3}]|\x{3000}"
)


def is_literal(key: str) -> bool:
    """Return whether a normalised key is a date, a number or a quantity rather than a name.

    Parameters
    ----------
    key
        As `ytrag_core.graph.normalise.entity_key` gives it (case-folded).
    """
    return _LITERAL.fullmatch(key) is not None


def literal_mask(keys: pa.LargeStringArray) -> NDArray[np.bool_]:
    """Return `is_literal` of every key.

    Parameters
    ----------
    keys
        (n,) large strings without nulls.

    Returns
    -------
    ndarray
        (n,) bool.
    """
    candidates = np.flatnonzero(pc.match_substring_regex(keys, _CANDIDATE).to_numpy(zero_copy_only=False))
    mask = np.zeros(len(keys), bool)
    mask[candidates] = [is_literal(key) for key in keys.take(candidates).to_pylist()]
    return mask
