"""Fields of passages, by which a caller chooses among them."""

from __future__ import annotations

import difflib
import threading
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import QueryError
from ytrag_core.graph.tables import CHUNK_PLACES, CHUNKS, DOCUMENTS
from ytrag_core.retrieval.columns import COLUMN_SPEC, FieldColumn, columns_from_arrays, parse_metadata
from ytrag_core.retrieval.layout import METADATA

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.retrieval.conditions import Condition, MetadataFilter
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["MetadataColumns"]

_OF_CHUNKS = ("id", "title", "text", "page", "heading")
_OF_DOCUMENTS = {"document": "id", "source": "source"}


class MetadataColumns:
    """The fields of a snapshot's passages.

    Metadata belongs to documents; its columns are written when a snapshot is, and mapped here. Snapshots of
    earlier versions have none: their metadata is parsed at the first condition on it.

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
        if METADATA in self._snapshot.manifest.files:
            return columns_from_arrays(self._snapshot.arrays(METADATA, COLUMN_SPEC))
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
                made = FieldColumn.of_strings(column, distinct=field in ("id", "text"))
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
