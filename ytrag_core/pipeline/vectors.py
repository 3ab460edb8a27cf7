"""Unique strings of a graph to vectors, reusing those of the snapshot before."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.embedding.reuse import KnownVectors, encode_unique, text_hashes
from ytrag_core.errors import SnapshotError
from ytrag_core.graph.dictionary import DictionaryEncoder
from ytrag_core.graph.normalise import relation_text
from ytrag_core.retrieval import layout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["StringTable", "TextEncoder", "TextVectors", "string_table", "triple_sentences"]

_LOG = logging.getLogger(__name__)


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
    """Return each triple as a sentence for the encoder."""
    names = graph.node_names()
    relations = pa.array([relation_text(name) for name in graph.relations["name"].to_pylist()], pa.string())
    heads, tails = (names.take(pa.array(ids)).to_pylist() for ids in (graph.head, graph.tail))
    return list(map(layout.triple_text, heads, relations.take(pa.array(graph.relation)).to_pylist(), tails))


@dataclass(frozen=True, slots=True, eq=False)
class TextVectors:
    """Rows of texts: (n, d) float16 vectors and (n, 2) uint64 hashes."""

    vectors: NDArray[np.float16]
    hashes: NDArray[np.uint64]

    def arrays(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a vector file."""
        return {"vectors": self.vectors, "hashes": self.hashes}


class TextEncoder:
    """Encodes texts once each; counts what was encoded and what was reused.

    Parameters
    ----------
    encoder
        The encoder.
    previous
        The snapshot before, whose vectors are reused if the same encoder made them.
    """

    def __init__(self, encoder: Encoder, previous: Snapshot | None) -> None:
        self._encoder = encoder
        self._known = _known_vectors(encoder, previous)
        self.n_encoded = 0
        self.n_reused = 0

    def encode(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> TextVectors:
        """Return the rows of texts, repeats allowed."""
        unique = list(dict.fromkeys(texts))
        vectors, n_encoded, n_reused = encode_unique(
            self._encoder, unique, known=self._known, progress=progress
        )
        self.n_encoded += n_encoded
        self.n_reused += n_reused
        hashes = text_hashes(unique)
        if len(unique) == len(texts):
            return TextVectors(vectors, hashes)
        row_of = dict(zip(unique, range(len(unique)), strict=True))
        rows = np.fromiter(map(row_of.__getitem__, texts), np.int64, len(texts))
        return TextVectors(vectors[rows], hashes[rows])


def _known_vectors(encoder: Encoder, previous: Snapshot | None) -> KnownVectors | None:
    """Return the vectors of the snapshot before, or None where they cannot be used."""
    if previous is None or previous.manifest.encoder.get("fingerprint") != encoder.fingerprint:
        return None
    parts = []
    for path in (layout.STRING_VECTORS, layout.TRIPLE_VECTORS, layout.CHUNK_VECTORS):
        if path in previous.manifest.files:
            try:
                previous.check_sums([path])
                arrays = previous.arrays(path)
                parts.append((arrays["hashes"], arrays["vectors"]))
            except (SnapshotError, KeyError) as error:
                _LOG.warning("vectors of %s are not reused: %s", path, error)
    if not parts:
        return None
    hashes, vectors = parts[0] if len(parts) == 1 else map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((hashes[:, 1], hashes[:, 0]))
    ordered = hashes[order]
    first = np.ones(len(order), bool)
    first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return KnownVectors(ordered[first], vectors[order[first]])
