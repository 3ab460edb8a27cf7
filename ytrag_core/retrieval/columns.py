"""Columns of values, one of each field: compared value by distinct value, kept as plain arrays."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.documents.dates import date_span
from ytrag_core.retrieval.names import utf8_arrays
from ytrag_core.storage.arrays import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import date

    from numpy.typing import NDArray

    from ytrag_core.retrieval.conditions import Condition, Scalar

__all__ = ["COLUMN_SPEC", "FieldColumn", "column_arrays", "columns_from_arrays", "parse_metadata"]

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?")
_BATCH = 1 << 16
_SHOWN = 8
_NESTED = 16

COLUMN_SPEC = {
    "field_values": ArraySpec(np.dtype(np.int64), 1),
    "field_texts": ArraySpec(np.dtype(np.int64), 1),
    "rows": ArraySpec(np.dtype(np.int32), 1),
    "codes": ArraySpec(np.dtype(np.int32), 1),
    "text_indptr": ArraySpec(np.dtype(np.int64), 1),
    "text_bytes": ArraySpec(np.dtype(np.uint8), 1),
    "name_indptr": ArraySpec(np.dtype(np.int64), 1),
    "name_bytes": ArraySpec(np.dtype(np.uint8), 1),
}
"""Arrays of all columns of a snapshot, field after field: where the values and the distinct texts of each
begin, rows and codes of the values, the distinct texts and the names of the fields in UTF-8."""


@dataclass(eq=False)
class FieldColumn:
    """The values of one field; a row may have several, or none.

    Attributes
    ----------
    rows
        (m,) int32 row of each value, ascending.
    codes
        (m,) int32 into `texts`.
    texts
        The distinct values as text.
    is_path
        Whether the last part of a path equals the whole.
    """

    rows: NDArray[np.int32]
    codes: NDArray[np.int32]
    texts: pa.StringArray
    is_path: bool = False

    @classmethod
    def of_strings(
        cls, column: pa.ChunkedArray | pa.Array, *, is_path: bool = False, distinct: bool = False
    ) -> FieldColumn:
        """Return the column of one string a row; nulls are no values.

        Parameters
        ----------
        column
            The strings.
        is_path
            Whether the last part of a path equals the whole.
        distinct
            Whether they are all different, or too long to compare: then none is looked for twice.
        """
        strings = column.cast(pa.large_string())
        if isinstance(strings, pa.ChunkedArray):
            strings = strings.combine_chunks()
        if distinct and not strings.null_count:
            every = np.arange(len(strings), dtype=np.int32)
            return cls(every, every, strings, is_path)
        encoded = strings.dictionary_encode()
        present = np.flatnonzero(encoded.indices.is_valid().to_numpy(zero_copy_only=False))
        codes = encoded.indices.drop_null().to_numpy().astype(np.int32)
        return cls(present.astype(np.int32), codes, encoded.dictionary, is_path)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Distinct values as numbers, NaN where they are none."""
        numbers = np.full(len(self.texts), np.nan)
        are_numbers = _bools(pc.match_substring_regex(self.texts, f"^({_NUMBER.pattern})$"))
        written = self.texts.filter(pa.array(are_numbers))
        numbers[are_numbers] = written.cast(pa.float64()).to_numpy(zero_copy_only=False)
        return numbers

    @cached_property
    def moments(self) -> NDArray[np.float64]:
        """Distinct values as the seconds at which a date begins, NaN where they are none."""
        moments = np.full(len(self.texts), np.nan)
        likely = np.flatnonzero(_bools(pc.match_substring_regex(self.texts, r"^\s*[12][0-9]{3}")))
        for place, text in zip(likely.tolist(), self.texts.take(pa.array(likely)).to_pylist(), strict=True):
            span = date_span(text)
            if span is not None:
                moments[place] = span[0]
        return moments

    def rows_that_meet(self, condition: Condition, n_rows: int) -> NDArray[np.bool_]:
        """Return which rows meet a condition.

        Numbers are compared as numbers, dates as dates (a year or a month is all of its days), other values
        as text, code point by code point. `!=` holds wherever `=` does not, so also where there is no value.

        Returns
        -------
        ndarray
            (n_rows,) bool.
        """
        operator = "=" if condition.operator == "!=" else condition.operator
        hit = np.zeros(len(self.texts), bool)
        for value in condition.values:
            hit |= self._hits("=" if operator == "in" else operator, _text_of(value))
        met = np.zeros(n_rows, bool)
        met[self.rows[hit[self.codes]]] = True
        return ~met if condition.operator == "!=" else met

    def _hits(self, operator: str, wanted: str) -> NDArray[np.bool_]:
        """Return which distinct values meet one comparison."""
        texts = self.texts
        if operator == "~":
            return _bools(pc.match_substring(texts, wanted, ignore_case=True))
        number = float(wanted) if _NUMBER.fullmatch(wanted) else None
        span = date_span(wanted)
        hit = np.zeros(len(texts), bool)
        is_plain = np.ones(len(texts), bool)
        if number is not None:
            is_plain &= np.isnan(self.numbers)
            hit |= _compared(self.numbers, operator, number, number)
        if span is not None:
            undated = np.isnan(self.moments)
            hit |= is_plain & _compared(self.moments, operator, span[0], np.nextafter(span[1], -np.inf))
            is_plain &= undated
        if operator == "=":
            hit |= is_plain & self._equal(wanted)
        elif number is None and span is None:
            compare = {"<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}[operator]
            hit |= is_plain & _bools(compare(texts, pa.scalar(wanted, texts.type)))
        return hit

    def _equal(self, wanted: str) -> NDArray[np.bool_]:
        hit = _bools(pc.equal(self.texts, pa.scalar(wanted, self.texts.type)))
        if self.is_path:
            for slash in "/\\":
                hit |= _bools(pc.ends_with(self.texts, slash + wanted))
        return hit

    def described(self) -> str:
        """Return in words which values there are."""
        if not len(self.texts):
            return "has no values"
        if len(self.texts) <= _SHOWN:
            return f"has the values {', '.join(sorted(self.texts.to_pylist()))}"
        if not np.isnan(self.numbers).any():
            order = np.argsort(self.numbers, kind="stable")
            low, high = (str(self.texts[int(position)]) for position in (order[0], order[-1]))
        else:
            bounds = pc.min_max(self.texts)
            low, high = (_shortened(str(bounds[end])) for end in ("min", "max"))
        return f"has {len(self.texts):,} values, from {low} to {high}"


def _compared(values: NDArray[np.float64], operator: str, low: float, high: float) -> NDArray[np.bool_]:
    """Compare values with the span from `low` to `high`; NaN never compares."""
    with np.errstate(invalid="ignore"):
        hit: NDArray[np.bool_] = {
            "=": lambda: (values >= low) & (values <= high),
            "<": lambda: values < low,
            "<=": lambda: values <= high,
            ">": lambda: values > high,
            ">=": lambda: values >= low,
        }[operator]()
    return hit


def _bools(values: pa.Array) -> NDArray[np.bool_]:
    hit: NDArray[np.bool_] = values.to_numpy(zero_copy_only=False).astype(bool)
    return hit


def _text_of(value: Scalar | date) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}..."


def parse_metadata(texts: Iterable[str | None]) -> dict[str, FieldColumn]:
    """Return a column for each field of some JSON objects, one object a row.

    A list is several values, a field of a nested object is called `outer.inner`; nulls are no values.
    """
    rows: dict[str, array[int]] = {}
    chunks: dict[str, list[pa.Array]] = {}
    waiting: dict[str, list[str]] = {}
    for row, text in enumerate(texts):
        if text is None or text in ("", "{}"):
            continue
        for field, value in _flat(json.loads(text)):
            if field not in rows:
                rows[field], chunks[field], waiting[field] = array("i"), [], []
            rows[field].append(row)
            values = waiting[field]
            values.append(value)
            if len(values) == _BATCH:
                chunks[field].append(pa.array(values, pa.large_string()).dictionary_encode())
                values.clear()
    columns = {}
    for field, of_field in rows.items():
        chunks[field].append(pa.array(waiting.pop(field), pa.large_string()).dictionary_encode())
        encoded = pa.chunked_array(chunks.pop(field)).unify_dictionaries().combine_chunks()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.chunk(0)
        columns[field] = FieldColumn(
            np.array(of_field, np.int32), encoded.indices.to_numpy().astype(np.int32), encoded.dictionary
        )
    return columns


def _flat(fields: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the values of an object, in any order."""
    found = []
    waiting: list[tuple[str, Any, int]] = [(field, value, 0) for field, value in fields.items()]
    while waiting:
        field, value, depth = waiting.pop()
        if isinstance(value, str):
            found.append((field, value))
        elif isinstance(value, int | float):
            found.append((field, _text_of(value)))
        elif isinstance(value, dict) and depth < _NESTED:
            waiting += [(f"{field}.{key}", inner, depth + 1) for key, inner in value.items()]
        elif isinstance(value, list) and depth < _NESTED:
            waiting += [(field, inner, depth + 1) for inner in value]
    return found


def column_arrays(columns: Mapping[str, FieldColumn]) -> dict[str, NDArray[Any]]:
    """Return the arrays of `COLUMN_SPEC`, fields in the order of their names."""
    ordered = [columns[name] for name in sorted(columns)]
    texts = pa.chunked_array([column.texts for column in ordered], pa.large_string())
    text_indptr, text_bytes = utf8_arrays(texts)
    name_indptr, name_bytes = utf8_arrays(pa.chunked_array([pa.array(sorted(columns), pa.large_string())]))
    none = [np.empty(0, np.int32)]
    return {
        "field_values": np.cumsum([0, *(len(column.rows) for column in ordered)], dtype=np.int64),
        "field_texts": np.cumsum([0, *(len(column.texts) for column in ordered)], dtype=np.int64),
        "rows": np.concatenate(none + [column.rows for column in ordered]),
        "codes": np.concatenate(none + [column.codes for column in ordered]),
        "text_indptr": text_indptr,
        "text_bytes": text_bytes,
        "name_indptr": name_indptr,
        "name_bytes": name_bytes,
    }


def columns_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> dict[str, FieldColumn]:
    """Open the arrays of `COLUMN_SPEC`; nothing is read before it is compared."""
    names = _strings(arrays["name_indptr"], arrays["name_bytes"]).to_pylist()
    values, texts = arrays["field_values"].tolist(), arrays["field_texts"].tolist()
    strings = _strings(arrays["text_indptr"], arrays["text_bytes"])
    return {
        name: FieldColumn(
            arrays["rows"][values[at] : values[at + 1]],
            arrays["codes"][values[at] : values[at + 1]],
            strings.slice(texts[at], texts[at + 1] - texts[at]),
        )
        for at, name in enumerate(names)
    }


def _strings(indptr: NDArray[np.int64], content: NDArray[np.uint8]) -> pa.LargeStringArray:
    return pa.LargeStringArray.from_buffers(len(indptr) - 1, pa.py_buffer(indptr), pa.py_buffer(content))
