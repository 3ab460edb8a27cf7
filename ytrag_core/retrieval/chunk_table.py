"""What is stored of chunks: ids, texts, where they come from, and their sentences."""

from __future__ import annotations

import difflib
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from ytrag_core.errors import QueryError
from ytrag_core.graph.tables import CHUNK_PLACES, CHUNKS
from ytrag_core.retrieval import layout
from ytrag_core.retrieval.sentences import SENTENCE_SPEC, Passage, passage_of

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

    @cached_property
    def _texts(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        ids, titles, texts = self._columns("id", "title", "text")
        return ids, titles, texts

    @cached_property
    def ids(self) -> list[str]:
        """Ids of all chunks by row."""
        ids: list[str] = self._texts[0].to_pylist()
        return ids

    def titles(self) -> list[str]:
        """Return the titles of all chunks by row."""
        titles: list[str] = self._texts[1].to_pylist()
        return titles

    def id(self, row: int) -> str:
        """Return the id of a chunk."""
        return str(self._texts[0][row].as_py())

    def ids_of(self, rows: Sequence[int]) -> list[str]:
        """Return the ids of some chunks."""
        ids: list[str] = self._texts[0].take(pa.array(rows, pa.int32())).to_pylist()
        return ids

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
        return str(self._texts[1][row].as_py())

    def text(self, row: int) -> str:
        """Return the text of a chunk."""
        return str(self._texts[2][row].as_py())

    @cached_property
    def _places(self) -> tuple[pa.Array, pa.Array]:
        pages, headings = self._columns("page", "heading")
        return pages, headings

    @cached_property
    def _origins(self) -> tuple[pa.Array, pa.Array, pa.Array]:
        owners, starts = self._columns("document", "start")
        documents = self._snapshot.table("documents", ["id"])["id"].combine_chunks()
        return documents, owners, starts

    def fields(self, rows: Sequence[int]) -> list[ChunkFields]:
        """Return everything that is stored of some chunks."""
        wanted = pa.array(rows, pa.int32())
        documents, owners, starts = self._origins
        columns = [column.take(wanted) for column in (*self._texts, *self._places, owners, starts)]
        columns[5] = documents.take(columns[5])
        ids, titles, texts, pages, headings, origins, begins = (column.to_pylist() for column in columns)
        headings = [heading or "" for heading in headings]
        return list(map(ChunkFields, ids, titles, texts, pages, headings, origins, begins))

    @cached_property
    def _sentences(self) -> dict[str, NDArray[Any]] | None:
        if layout.SENTENCES not in self._snapshot.manifest.files:
            return None
        return self._snapshot.arrays(layout.SENTENCES, SENTENCE_SPEC)

    def passages(self, rows: Sequence[int]) -> list[Passage]:
        """Return the texts of some chunks with their sentences."""
        arrays = self._sentences
        texts: list[str] = self._texts[2].take(pa.array(rows, pa.int32())).to_pylist()
        if arrays is None:
            return list(map(passage_of, texts))
        indptr, starts, ends = (arrays[name] for name in SENTENCE_SPEC)
        found = []
        for row, text in zip(rows, texts, strict=True):
            first, last = indptr[row : row + 2].tolist()
            found.append(Passage(text, starts[first:last], ends[first:last]))
        return found
