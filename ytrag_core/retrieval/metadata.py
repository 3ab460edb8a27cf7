"""Fields of passages as columns: parsed at first use, compared value by distinct value."""

from __future__ import annotations

import difflib
import json
import re
import threading
from array import array
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.documents.dates import date_span
from ytrag_core.errors import QueryError
from ytrag_core.graph.tables import CHUNK_PLACES, CHUNKS, DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from ytrag_core.retrieval.conditions import Condition, MetadataFilter, Scalar
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["FieldColumn", "MetadataColumns", "parse_metadata"]

_OF_CHUNKS = ("id", "title", "text", "page", "heading")
_OF_DOCUMENTS = {"document": "id", "source": "source"}
_PATHS = frozenset(_OF_DOCUMENTS)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BATCH = 1 << 16
_SHOWN = 8
_NESTED = 16


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
    def of_strings(cls, column: pa.ChunkedArray | pa.Array, *, is_path: bool = False) -> FieldColumn:
        """Return the column of one string a row; nulls are no values."""
        strings = column.cast(pa.large_string())
        if isinstance(strings, pa.ChunkedArray):
            strings = strings.combine_chunks()
        encoded = strings.dictionary_encode()
        present = np.flatnonzero(encoded.indices.is_valid().to_numpy(zero_copy_only=False))
        codes = encoded.indices.drop_null().to_numpy().astype(np.int32)
        return cls(present.astype(np.int32), codes, encoded.dictionary, is_path)

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """Distinct values as numbers, NaN where they are none."""
        return np.array(
            [float(text) if _NUMBER.fullmatch(text) else np.nan for text in self.texts.to_pylist()],
            np.float64,
        )

    @cached_property
    def moments(self) -> NDArray[np.float64]:
        """Distinct values as the seconds at which a date begins, NaN where they are none."""
        spans = (date_span(text) for text in self.texts.to_pylist())
        return np.array([np.nan if span is None else span[0] for span in spans], np.float64)

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


def _text_of(value: Scalar) -> str:
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
        for field, value in _flat("", json.loads(text), 0):
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


def _flat(prefix: str, value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            if depth < _NESTED:
                yield from _flat(f"{prefix}.{key}" if prefix else str(key), inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            if depth < _NESTED:
                yield from _flat(prefix, inner, depth + 1)
    elif value is not None and prefix:
        yield prefix, value if isinstance(value, str) else _text_of(value)


class MetadataColumns:
    """The fields of a snapshot's passages.

    Metadata belongs to documents, so that it is parsed once a document; each column takes 8 bytes a value
    and the distinct values.

    Parameters
    ----------
    snapshot
        The snapshot.
    n_chunks
        Number of its passages.
    """

    def __init__(self, snapshot: Snapshot, n_chunks: int) -> None:
        self._snapshot = snapshot
        self._n_chunks = n_chunks
        self._known: dict[str, FieldColumn] = {}
        self._lock = threading.Lock()

    @cached_property
    def _document_of(self) -> NDArray[np.int32]:
        column = self._snapshot.table("chunks", ["document"], CHUNKS)["document"]
        rows: NDArray[np.int32] = column.combine_chunks().to_numpy()
        return rows

    @cached_property
    def _of_metadata(self) -> dict[str, FieldColumn]:
        table = self._snapshot.table("documents", ["metadata"], DOCUMENTS, ("metadata",))
        texts = (text for chunk in table["metadata"].chunks for text in chunk.to_pylist())
        return parse_metadata(texts)

    def fields(self) -> list[str]:
        """Return the names of all fields, those that every passage has first."""
        own = [*_OF_CHUNKS[:1], *_OF_DOCUMENTS, *_OF_CHUNKS[1:]]
        with self._lock:
            return [
                *own,
                *sorted(name if name not in own else f"metadata.{name}" for name in self._of_metadata),
            ]

    def mask(self, where: MetadataFilter) -> NDArray[np.bool_]:
        """Return which passages meet all conditions, (n_chunks,) bool.

        Raises
        ------
        QueryError
            There is no such field, or there are no passages at all.
        """
        if not self._n_chunks:
            raise QueryError(f"{where} arrived, but this knowledge base has no passages; ask without it")
        met = np.ones(self._n_chunks, bool)
        for condition in where.conditions:
            met &= self._met(condition)
        return met

    def _met(self, condition: Condition) -> NDArray[np.bool_]:
        with self._lock:
            column, of_documents = self._column(condition.field)
            if not of_documents:
                return column.rows_that_meet(condition, self._n_chunks)
            n_documents = int(self._document_of.max()) + 1
            # A document without passages may come last.
            n_documents = max(n_documents, int(column.rows[-1]) + 1 if column.rows.size else 0)
            met: NDArray[np.bool_] = column.rows_that_meet(condition, n_documents)[self._document_of]
            return met

    def why_none(self, where: MetadataFilter) -> str:
        """Return in words why no passage meets some conditions."""
        for condition in where.conditions:
            if not self._met(condition).any():
                with self._lock:
                    column, _ = self._column(condition.field)
                return f"{condition.field} {column.described()}"
        return "each condition is met by some, but all of them by none"

    def _column(self, field: str) -> tuple[FieldColumn, bool]:
        """Return the column of a field, and whether its rows are documents."""
        if field in _OF_CHUNKS:
            if field not in self._known:
                column = self._snapshot.table("chunks", [field], CHUNKS, CHUNK_PLACES)[field]
                made = FieldColumn.of_strings(column)
                if field == "text":
                    return made, False
                self._known[field] = made
            return self._known[field], False
        if field in _OF_DOCUMENTS:
            if field not in self._known:
                name = _OF_DOCUMENTS[field]
                column = self._snapshot.table("documents", [name], DOCUMENTS)[name]
                self._known[field] = FieldColumn.of_strings(column, is_path=True)
            return self._known[field], True
        for name in (field, field.removeprefix("metadata.")):
            if name in self._of_metadata:
                return self._of_metadata[name], True
        raise QueryError(self._unknown(field))

    def _unknown(self, field: str) -> str:
        known = [_OF_CHUNKS[0], *_OF_DOCUMENTS, *_OF_CHUNKS[1:], *sorted(self._of_metadata)]
        near = difflib.get_close_matches(field, known, 1)
        hint = f" (is {near[0]} meant?)" if near else ""
        return f"passages have no field {field!r}{hint}; they have {', '.join(known)}"
