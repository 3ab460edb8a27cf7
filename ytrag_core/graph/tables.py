"""The node and edge tables of a knowledge graph, and their CSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.errors import GraphFormatError
from ytrag_core.kernels.csr import csr_from_edges

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "ATTRIBUTES",
    "CHUNKS",
    "CHUNK_PLACES",
    "DOCUMENTS",
    "ENTITIES",
    "MENTIONS",
    "MERGES",
    "RELATIONS",
    "RESTATED",
    "SENSES",
    "TRIPLES",
    "Csr",
    "GraphTables",
    "Merged",
    "Provenance",
    "build_csr",
    "string_column",
]

_COLUMN_BYTES = 1 << 30
_MOST_BYTES = 2**31 - 1

DOCUMENTS = pa.schema(
    [
        ("id", pa.string()),
        ("title", pa.string()),
        ("source", pa.string()),
        ("n_chunks", pa.int32()),
        ("metadata", pa.string()),
    ]
)
CHUNKS = pa.schema(
    [
        ("id", pa.string()),
        ("document", pa.int32()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("page", pa.int32()),
        ("heading", pa.string()),
        ("metadata", pa.string()),
    ]
)
CHUNK_PLACES = ("page", "heading", "metadata")
"""Columns of `CHUNKS` that the knowledge bases of earlier versions lack."""

ENTITIES = pa.schema(
    [
        ("id", pa.int32()),
        ("name", pa.string()),
        ("key", pa.string()),
        ("type", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("external_id", pa.string()),
        ("n_mentions", pa.int32()),
        ("degree", pa.int32()),
    ]
)
ATTRIBUTES = pa.schema(
    [
        ("id", pa.int32()),
        ("value", pa.string()),
        ("key", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("n_mentions", pa.int32()),
        ("degree", pa.int32()),
    ]
)
RELATIONS = pa.schema(
    [("id", pa.int32()), ("name", pa.string()), ("key", pa.string()), ("n_triples", pa.int32())]
)
TRIPLES = pa.schema(
    [
        ("id", pa.int32()),
        ("head", pa.int32()),
        ("relation", pa.int32()),
        ("tail", pa.int32()),
        ("n_chunks", pa.int32()),
    ]
)
MENTIONS = pa.schema(
    [("subject", pa.dictionary(pa.int8(), pa.string())), ("id", pa.int32()), ("chunk", pa.int32())]
)
MERGES = pa.schema(
    [
        ("entity", pa.int32()),
        ("name", pa.string()),
        ("member", pa.string()),
        ("key", pa.string()),
        ("sense", pa.string()),
        ("forms", pa.list_(pa.string())),
        ("kind", pa.string()),
        ("score", pa.float32()),
        ("evidence", pa.string()),
        ("linked_to", pa.string()),
        ("chunks", pa.list_(pa.int32())),
        ("triples", pa.list_(pa.int32())),
    ]
)
SENSES = pa.schema([("entity", pa.int32()), ("key", pa.string()), ("sense", pa.string())])
RESTATED = pa.schema(
    [("triple", pa.int32()), ("head", pa.string()), ("tail", pa.string()), ("is_first", pa.bool_())]
)


@dataclass(frozen=True, slots=True, eq=False)
class Csr:
    """Directed adjacency of entity and attribute nodes, in one direction.

    Attributes
    ----------
    indptr
        (n_nodes + 1,) int64.
    indices
        (n_triples,) int32, neighbours, ascending in each row.
    relation, triple
        (n_triples,) int32, payloads beside `indices`.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    relation: NDArray[np.int32]
    triple: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Provenance:
    """Which chunks state a subject, as CSR: subject -> chunk rows, ascending.

    Attributes
    ----------
    indptr
        (n_subjects + 1,) int64.
    chunks
        int32 rows of the chunks table.
    """

    indptr: NDArray[np.int64]
    chunks: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Names of several keys that were taken for one thing, and names of one key that mean several things.

    Attributes
    ----------
    merges
        `MERGES`: for each such entity its members, first the one by which it goes, each with its surface
        forms, its chunks and triples (rows of their tables), and what linked it to which other member.
    restated
        `RESTATED`: the triples of these entities as the text words them. The first wording of a triple is the
        one that is encoded; so a merge changes no sentence, and needs no new vector.
    senses
        `SENSES`: by which type a name that means several things is told apart in each of its entities.
    """

    merges: pa.Table
    restated: pa.Table
    senses: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class GraphTables:
    """A resolved graph.

    Node ids are dense by kind: entities 0..n_entities-1, then attributes. Triples are sorted by head, tail
    and relation, so that a triple's id is also its position in `out`.

    Attributes
    ----------
    entities, attributes, relations, triples
        Tables of the schemas above.
    head, relation, tail
        (n_triples,) int32 columns of `triples`.
    out, into
        CSR from heads to tails and from tails to heads; `out` shares its arrays with the columns.
    triple_chunks, node_chunks
        Provenance of triples and of nodes.
    merged
        Where an entity is not all that one key names, and nothing else; None where none is.
    """

    entities: pa.Table
    attributes: pa.Table
    relations: pa.Table
    triples: pa.Table
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    out: Csr
    into: Csr
    triple_chunks: Provenance
    node_chunks: Provenance
    merged: Merged | None = None

    @property
    def n_entities(self) -> int:
        """Number of entities."""
        return int(self.entities.num_rows)

    @property
    def n_nodes(self) -> int:
        """Number of entities and attributes."""
        return int(self.entities.num_rows + self.attributes.num_rows)

    @property
    def n_triples(self) -> int:
        """Number of distinct triples."""
        return int(self.head.shape[0])

    def node_names(self) -> pa.ChunkedArray:
        """Return the display names of all nodes in id order."""
        return pa.chunked_array(
            [*self.entities["name"].chunks, *self.attributes["value"].chunks], type=pa.string()
        )

    def mentions(self) -> pa.Table:
        """Return provenance as a table {subject, id, chunk}: nodes first, then triples."""
        parts = []
        for label, provenance in ((0, self.node_chunks), (1, self.triple_chunks)):
            counts = np.diff(provenance.indptr)
            subject = pa.DictionaryArray.from_arrays(
                np.full(provenance.chunks.shape[0], label, np.int8), pa.array(["node", "triple"])
            )
            ids = np.repeat(np.arange(counts.shape[0], dtype=np.int32), counts)
            parts.append(pa.table([subject, ids, provenance.chunks], schema=MENTIONS))
        return pa.concat_tables(parts)


def build_csr(
    rows: NDArray[np.int32], cols: NDArray[np.int32], relation: NDArray[np.int32], n_nodes: int
) -> Csr:
    """Return the CSR whose row lists are in input order; the triple id is the input position.

    Parameters
    ----------
    rows, cols, relation
        (n_triples,) int32, contiguous; ids in range are the caller's duty (checked where data enters).
    n_nodes
        Number of rows.
    """
    indptr, indices, relations, triple = csr_from_edges(rows, cols, relation, n_nodes)
    return Csr(indptr, indices, relations, triple)


def string_column(values: pa.LargeStringArray) -> pa.ChunkedArray:
    """Return large strings as a column of a table, in chunks that the 32-bit offsets of strings can reach.

    Parameters
    ----------
    values
        (n,) large strings without nulls. The text is shared, not copied.

    Raises
    ------
    GraphFormatError
        One string alone is beyond 2 GiB.
    """
    _, offset_buffer, text = values.buffers()
    offsets = np.frombuffer(offset_buffer or b"", np.int64)[values.offset :][: len(values) + 1]
    chunks, start = [], 0
    while start < len(values):
        end = int(np.searchsorted(offsets, offsets[start] + _COLUMN_BYTES, side="right")) - 1
        end = min(max(end, start + 1), len(values))
        low, high = int(offsets[start]), int(offsets[end])
        if high - low > _MOST_BYTES:
            raise GraphFormatError(f"a string of {high - low} bytes arrived; {_MOST_BYTES} are the most")
        short = pa.py_buffer((offsets[start : end + 1] - low).astype(np.int32))
        data = pa.py_buffer(b"") if text is None else text.slice(low, high - low)
        chunks.append(pa.StringArray.from_buffers(end - start, short, data))
        start = end
    return pa.chunked_array(chunks, pa.string())
