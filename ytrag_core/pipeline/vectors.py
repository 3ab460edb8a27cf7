"""Unique strings of a graph to vectors, reusing those that are known."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.embedding.reuse import KnownVectors, UniqueTexts, encode_missing, token_limit
from ytrag_core.embedding.windows import cut_windows
from ytrag_core.graph.dictionary import DictionaryEncoder
from ytrag_core.graph.normalise import relation_text
from ytrag_core.retrieval import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.embedding.windows import Windows
    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.pipeline.vector_cache import VectorCache

__all__ = [
    "PassageVectors",
    "StringTable",
    "TextEncoder",
    "TextVectors",
    "merged_texts",
    "string_table",
    "triple_sentences",
]


@dataclass(frozen=True, slots=True, eq=False)
class StringTable:
    """Distinct names and relation texts.

    Attributes
    ----------
    texts
        Distinct strings: names in order of first node, then relation texts that are no name.
    node_string
        (n_nodes,) int32 rows of `texts`.
    relation_string
        (n_relations,) int32 rows of `texts`.
    """

    texts: list[str]
    node_string: NDArray[np.int32]
    relation_string: NDArray[np.int32]

    def bearers(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """Return string -> nodes as CSR: indptr (n_strings + 1,) int64 and ascending node ids."""
        indptr = np.zeros(len(self.texts) + 1, np.int64)
        np.cumsum(np.bincount(self.node_string, minlength=len(self.texts)), out=indptr[1:])
        return indptr, np.argsort(self.node_string, kind="stable").astype(np.int32)


def string_table(graph: GraphTables) -> StringTable:
    """Return the distinct strings of a graph."""
    encoder = DictionaryEncoder()
    for chunk in graph.node_names().chunks:
        encoder.add(chunk.cast(pa.large_string()))
    encoded = encoder.finish()
    names = encoded.distinct
    texts = pa.array([relation_text(name) for name in graph.relations["name"].to_pylist()], names.type)
    rows = pc.index_in(texts, value_set=names).to_pylist()
    extra: dict[str, int] = {}
    relation_string = [
        row if row is not None else extra.setdefault(text, len(names) + len(extra))
        for text, row in zip(texts.to_pylist(), rows, strict=True)
    ]
    return StringTable(
        [*names.to_pylist(), *extra],
        encoded.codes[0],
        np.array(relation_string, np.int32),
    )


def triple_sentences(graph: GraphTables) -> list[str]:
    """Return each triple as a sentence for the encoder.

    Entities that were taken for one are called as the text calls them there, so that neither a merge nor a
    split makes a new sentence.
    """
    names = graph.node_names()
    relations = pa.array([relation_text(name) for name in graph.relations["name"].to_pylist()], pa.string())
    heads, tails = (names.take(pa.array(ids)).to_pylist() for ids in (graph.head, graph.tail))
    if graph.merged is not None:
        for row in graph.merged.restated.filter(pc.field("is_first")).to_pylist():
            heads[row["triple"]], tails[row["triple"]] = row["head"], row["tail"]
    return list(map(layout.triple_text, heads, relations.take(pa.array(graph.relation)).to_pylist(), tails))


def merged_texts(graph: GraphTables, *, with_sentences: bool) -> list[str]:
    """Return the names and sentences that the graph has no more for its merges, and would have without them.

    Parameters
    ----------
    graph
        The graph.
    with_sentences
        Whether its triples are encoded as sentences.
    """
    if graph.merged is None:
        return []
    merges = graph.merged.merges
    texts = merges.filter(pc.not_equal(merges["kind"], ""))["member"].to_pylist()
    if with_sentences:
        relations = [relation_text(name) for name in graph.relations["name"].to_pylist()]
        texts += [
            layout.triple_text(row["head"], relations[graph.relation[row["triple"]]], row["tail"])
            for row in graph.merged.restated.filter(~pc.field("is_first")).to_pylist()
        ]
    return list(dict.fromkeys(texts))


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """Rows of texts: (n, d) float16 vectors and (n, 2) uint64 hashes."""

    vectors: NDArray[np.float16]
    hashes: NDArray[np.uint64]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a vector file."""
        return {"vectors": self.vectors, "hashes": self.hashes}


@dataclass(frozen=True, slots=True, eq=False)
class PassageVectors:
    """Rows of the windows of passages.

    Attributes
    ----------
    rows
        One for each window, passage after passage.
    windows
        Which passage each is of, and which of its characters it holds.
    """

    rows: TextVectors
    windows: Windows

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of `vectors/chunks.arrow`."""
        return {
            **self.rows.arrays(),
            "window_chunk": self.windows.owners(),
            "window_start": np.ascontiguousarray(self.windows.offsets[:, 0]),
            "window_end": np.ascontiguousarray(self.windows.offsets[:, 1]),
        }


class TextEncoder:
    """Encodes texts once each; counts what was encoded and what was reused.

    Parameters
    ----------
    encoder
        The encoder.
    cache
        Vectors that are known already, and where those that are made are saved; None for neither.
    """

    def __init__(self, encoder: Encoder, cache: VectorCache | None = None) -> None:
        self._encoder = encoder
        self._cache = cache
        self._limit = token_limit(encoder)
        self._made: list[tuple[NDArray[np.uint64], NDArray[np.float16]]] = []
        self.n_encoded = 0
        self.n_reused = 0

    def encode(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> TextVectors:
        """Return the rows of texts, repeats allowed."""
        strings = list(dict.fromkeys(texts))
        unique = UniqueTexts(strings, self._limit)
        vectors = np.empty((len(strings), self._encoder.dimension), np.float16)
        missing = self._reuse(unique, vectors)
        self.n_encoded += len(missing)
        self.n_reused += len(strings) - len(missing)
        if progress is not None:
            progress(len(strings) - len(missing), len(strings))
        save = None if self._cache is None else self._cache.save
        encode_missing(self._encoder, unique, missing, vectors, save=save, progress=progress)
        if len(missing):
            self._made.append((unique.hashes, vectors))
        if len(strings) == len(texts):
            return TextVectors(vectors, unique.hashes)
        row_of = dict(zip(strings, range(len(strings)), strict=True))
        rows = np.fromiter(map(row_of.__getitem__, texts), np.int64, len(texts))
        return TextVectors(vectors[rows], unique.hashes[rows])

    def encode_ahead(
        self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None
    ) -> TextVectors:
        """Return the rows of texts that will all be asked for once more, and are counted then."""
        n_encoded, n_reused = self.n_encoded, self.n_reused
        rows = self.encode(texts, progress)
        self.n_reused = n_reused - (self.n_encoded - n_encoded)
        return rows

    def encode_passages(
        self,
        titles: Sequence[str],
        texts: Sequence[str],
        progress: Callable[[int, int], None] | None = None,
    ) -> PassageVectors:
        """Return the rows of passages, several for one that is longer than the encoder's window."""
        windows = cut_windows(texts, self._limit, [layout.passage_text(title, "") for title in titles])
        return PassageVectors(self.encode(windows.texts, progress), windows)

    def _reuse(self, unique: UniqueTexts, out_vectors: NDArray[np.float16]) -> NDArray[np.int64]:
        """Fill the rows that are known; return the (n_missing,) positions of the others, ascending."""
        missing = np.arange(len(unique))
        if self._cache is not None:
            known, found = self._cache.known, self._cache.lookup(unique.hashes)
            here = np.flatnonzero(found >= 0)
            known.copy_rows(found[here], out_vectors, here)
            missing = np.flatnonzero(found < 0)
        if self._made and len(missing):
            known = KnownVectors.merge(self._made)
            found = known.lookup(unique.hashes[missing])
            here = np.flatnonzero(found >= 0)
            known.copy_rows(found[here], out_vectors, missing[here])
            missing = missing[found < 0]
        return missing
