"""What a caller asks of a passage's document and metadata: `year>=2020`, `title~foo`, `lang in en,zh`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias, get_args

from ytrag_core.errors import QueryError

__all__ = ["Condition", "MetadataFilter", "Operator", "Scalar", "Where", "metadata_filter"]

Operator = Literal["=", "!=", "<", "<=", ">", ">=", "~", "in"]
Scalar: TypeAlias = str | int | float | bool

_OPERATORS: tuple[str, ...] = get_args(Operator)
_WRITTEN = re.compile(
    r"""\s* (?P<field> "[^"]+" | '[^']+' | [^\s=!<>~"']+ )
        (?: \s* (?P<sign> == | != | <= | >= | [=<>~] ) \s* | \s+ (?P<word> in ) \s+ )
        (?P<value> .* ) """,
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_ITEM = re.compile(
    r"""\s* (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<bare>(?!["'])[^,]*) ) \s* (?:,|$)""", re.X
)
_EXAMPLES = "year>=2020, document=report.pdf, title~foo or 'lang in en,zh'"


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a field of a passage.

    Attributes
    ----------
    field
        `id`, `document`, `source`, `title`, `text`, `page`, `heading`, or a metadata field; one nested in
        another is written `outer.inner`.
    operator
        `=`, `!=`, `<`, `<=`, `>`, `>=`, `~` (contains, whatever the case) or `in` (equals one of several).
    values
        What to compare with, several for `in` only; a date is kept as its text.
    """

    field: str
    operator: Operator
    values: tuple[Scalar | date, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.field, str) or not self.field.strip():
            raise QueryError(f"the field of a condition is {self.field!r}; name one, as in {_EXAMPLES}")
        if self.operator not in _OPERATORS:
            raise QueryError(f"the operator is {self.operator!r}; choose from {' '.join(_OPERATORS)}")
        given = (self.values,) if isinstance(self.values, str | int | float | date) else self.values
        values = tuple(value.isoformat() if isinstance(value, date) else value for value in given)
        if not values or (len(values) > 1 and self.operator != "in"):
            raise QueryError(
                f"{len(values)} values arrived for {self.field} {self.operator}; one is wanted, several for "
                "`in` only"
            )
        wrong = [value for value in values if not isinstance(value, str | int | float)]
        if wrong:
            raise QueryError(
                f"{self.field} is compared with {wrong[0]!r}; a text, a number or a date is wanted"
            )
        object.__setattr__(self, "values", values)

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Read a condition as it is written on the command line.

        Parameters
        ----------
        text
            A field, an operator and a value; quotes keep spaces, commas and signs together.

        Raises
        ------
        QueryError
            It is none.
        """
        found = _WRITTEN.fullmatch(text)
        value = found["value"].strip() if found else ""
        if found is None or not value:
            raise QueryError(f"the condition {text!r} has no field, operator and value; write {_EXAMPLES}")
        field = found["field"].strip("\"'")
        if found["word"]:
            return cls(field, "in", tuple(_items(value)))
        sign = "=" if found["sign"] == "==" else found["sign"]
        return cls(field, sign, (_unquoted(value),))  # type: ignore[arg-type]

    def __str__(self) -> str:
        spaced = f" {self.operator} " if self.operator == "in" else self.operator
        return f"{self.field}{spaced}{','.join(map(str, self.values))}"


def _items(text: str) -> list[str]:
    items: list[str] = []
    position = 0
    while position < len(text):
        match = _ITEM.match(text, position)
        if match is None:
            raise QueryError(f"the list {text!r} has a quote in the middle of a value; write a,b or 'a','b'")
        quoted = match["double"] if match["double"] is not None else match["single"]
        items.append(match["bare"].strip() if quoted is None else quoted)
        position = match.end()
    return [item for item in items if item]


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


@dataclass(frozen=True, slots=True)
class MetadataFilter:
    """Conditions that a passage has to meet, all of them."""

    conditions: tuple[Condition, ...]

    def __str__(self) -> str:
        return " and ".join(map(str, self.conditions))


Where: TypeAlias = MetadataFilter | Condition | str | Iterable[Condition | str]
"""What callers may give: a filter, or conditions, written or made."""


def metadata_filter(where: Where | None) -> MetadataFilter | None:
    """Return the filter that is meant; None where nothing is asked.

    Parameters
    ----------
    where
        A filter, one condition or several; a string is read by `Condition.parse`.

    Raises
    ------
    QueryError
        A condition cannot be read.
    """
    if where is None or isinstance(where, MetadataFilter):
        return where if where is not None and where.conditions else None
    given = [where] if isinstance(where, str | Condition) else list(where)
    wrong = [one for one in given if not isinstance(one, str | Condition)]
    if wrong:
        raise QueryError(f"a condition is {wrong[0]!r}; write {_EXAMPLES}")
    conditions = tuple(Condition.parse(one) if isinstance(one, str) else one for one in given)
    return MetadataFilter(conditions) if conditions else None
