"""What is stored of chunks: ids, texts, where they come from, and their sentences."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from ytrag_core.errors import QueryError
from ytrag_core.graph.tables import CHUNK_PLACES, CHUNKS
from ytrag_core.kernels.gather import gather_rows
from ytrag_core.retrieval import layout
from ytrag_core.retrieval.names import text_of, texts_of, utf8_arrays
from ytrag_core.retrieval.sentences import SENTENCE_SPEC, Passages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["ChunkFields", "ChunkTable"]

_COMPARED = 10_000
"""Ids looked through for one like another that there is not."""


class ChunkFields(NamedTuple):
    """What is stored of a chunk.

    Attributes
    ----------
    id, title, text
        As they were indexed.
    page
        None where it has none.
    heading
        Empty where it has none.
    document
        Id of its document.
    start
        Where its text begins in the document's, in characters.
    """

    id: str
    title: str
    text: str
    page: int | None
    heading: str
    document: str
    start: int


class _Strings:
    """A column of strings, read by rows faster than as values of Arrow."""

    def __init__(self, column: pa.Array) -> None:
        self._column = column
        self._indptr, self._content = utf8_arrays(pa.chunked_array([column.fill_null("")]))

    def all(self) -> list[str]:
        """Return all strings."""
        strings: list[str] = self._column.to_pylist()
        return strings

    def one(self, row: int) -> str:
        """Return the string of a row."""
        return text_of(self._content, self._indptr, row)

    def of(self, rows: NDArray[np.int32]) -> list[str]:
        """Return the strings of some rows."""
        return texts_of(self._content, self._indptr, rows)


class ChunkTable:
    """The chunks of a snapshot by their rows, read when first used.

    Parameters
    ----------
    snapshot
        The opened snapshot.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def _columns(self, *columns: str) -> list[pa.Array]:
        table = self._snapshot.table("chunks", columns, CHUNKS, CHUNK_PLACES)
        return [table[name].combine_chunks() for name in columns]

    def _strings(self, *columns: str) -> list[_Strings]:
        return list(map(_Strings, self._columns(*columns)))

    @cached_property
    def _texts(self) -> tuple[_Strings, _Strings, _Strings]:
        ids, titles, texts = self._strings("id", "title", "text")
        return ids, titles, texts

    @cached_property
    def ids(self) -> list[str]:
        """Ids of all chunks by row."""
        return self._texts[0].all()

    def titles(self) -> list[str]:
        """Return the titles of all chunks by row."""
        return self._texts[1].all()

    def id(self, row: int) -> str:
        """Return the id of a chunk."""
        return self._texts[0].one(row)

    def ids_of(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of some chunks."""
        return self._texts[0].of(np.array(rows, np.int32))

    @cached_property
    def _row_of(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}

    def row(self, chunk_id: str) -> int:
        """Return the row of a chunk; a QueryError where there is none of this id."""
        row = self._row_of.get(chunk_id)
        if row is None:
            near = difflib.get_close_matches(chunk_id, self.ids[:_COMPARED], 3)
            hint = f"; there are {', '.join(near)}" if near else ""
            raise QueryError(f"there is no passage {chunk_id!r} in this knowledge base{hint}")
        return row

    def title(self, row: int) -> str:
        """Return the title of a chunk."""
        return self._texts[1].one(row)

    def text(self, row: int) -> str:
        """Return the text of a chunk."""
        return self._texts[2].one(row)

    @cached_property
    def _places(self) -> tuple[pa.Array, _Strings]:
        pages, headings = self._columns("page", "heading")
        return pages, _Strings(headings)

    @cached_property
    def _origins(self) -> tuple[_Strings, NDArray[np.int32], NDArray[np.int64]]:
        owners, starts = (
            column.to_numpy(zero_copy_only=False) for column in self._columns("document", "start")
        )
        return _Strings(self._snapshot.table("documents", ["id"])["id"].combine_chunks()), owners, starts

    def fields(self, rows: Sequence[int]) -> list[ChunkFields]:
        """Return everything that is stored of some chunks."""
        wanted = np.array(rows, np.int32)
        documents, owners, starts = self._origins
        pages, headings = self._places
        ids, titles, texts, places = (column.of(wanted) for column in (*self._texts, headings))
        numbers = [pages[row].as_py() for row in rows]
        begins = starts[wanted].tolist()
        return list(
            map(ChunkFields, ids, titles, texts, numbers, places, documents.of(owners[wanted]), begins)
        )

    @cached_property
    def _sentences(self) -> dict[str, NDArray[Any]] | None:
        if layout.SENTENCES not in self._snapshot.manifest.files:
            return None
        return self._snapshot.arrays(layout.SENTENCES, SENTENCE_SPEC)

    def passages(self, rows: Sequence[int]) -> Passages:
        """Return the texts of some chunks with their sentences."""
        wanted = np.array(rows, np.int32)
        arrays, texts = self._sentences, self._texts[2].of(wanted)
        if arrays is None:
            return Passages.split(texts)
        indptr, starts, ends = (arrays[name] for name in SENTENCE_SPEC)
        places, _ = gather_rows(indptr, wanted, 0)
        counts = np.zeros(len(wanted) + 1, np.int64)
        np.cumsum(indptr[wanted + 1] - indptr[wanted], out=counts[1:])
        return Passages(texts, counts, starts[places], ends[places])
