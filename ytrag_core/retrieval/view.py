"""An opened snapshot as retrieval sees it: mapped arrays, names, vectors and indices."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.errors import SnapshotError
from ytrag_core.graph.tables import Csr, Provenance
from ytrag_core.retrieval import layout
from ytrag_core.retrieval.chunk_table import ChunkTable
from ytrag_core.retrieval.lexical import LexicalIndex
from ytrag_core.retrieval.lexicon import LEXICON_SPEC, Lexicon
from ytrag_core.retrieval.names import NodeNames, name_arrays, name_spec
from ytrag_core.retrieval.passages import PassageIndex
from ytrag_core.retrieval.relation_words import RelationWords, relation_texts
from ytrag_core.retrieval.titles import TitleIndex, title_arrays
from ytrag_core.retrieval.trust import Background, sample_rows
from ytrag_core.storage.advice import repair_advice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["PushScratch", "SnapshotView", "Walk"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The walk graph: nodes, then chunks; see `ytrag_core.kernels.csr.walk_csr`."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    strength: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class PushScratch:
    """Arrays that one walk at a time works in; see `ytrag_core.kernels.ppr.ppr_push`."""

    mass: NDArray[np.float64]
    queue: NDArray[np.int32]
    touched: NDArray[np.int32]


class SnapshotView:
    """A snapshot's arrays, mapped when first used and safe to share between threads.

    Parameters
    ----------
    snapshot
        The opened snapshot.

    Raises
    ------
    SnapshotError
        On first use of a part: it is missing, truncated or of another dtype or shape.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        counts = snapshot.manifest.counts
        self.n_entities = self._count("entities")
        self.n_nodes = self.n_entities + self._count("attributes")
        self.n_relations = self._count("relations")
        self.n_triples = self._count("triples")
        self.n_chunks = self._count("chunks")
        self.n_communities = self._count("communities")
        self.dimension = int(str(snapshot.manifest.encoder.get("dimension", 0)))
        self.has_sentences = bool(snapshot.manifest.settings.get("sentences")) and counts["triples"] > 0
        self._idle: list[PushScratch] = []
        self._lock = threading.RLock()

    def _count(self, name: str) -> int:
        try:
            return int(self.snapshot.manifest.counts[name])
        except KeyError as error:
            raise SnapshotError(
                f"{self.snapshot.path}: the manifest has no count of {name}; "
                f"{repair_advice(self.snapshot.path)}"
            ) from error

    @cached_property
    def _graph(self) -> dict[str, NDArray[Any]]:
        spec = layout.graph_spec(self.n_nodes, self.n_triples, self.n_chunks, self.n_communities)
        return self.snapshot.arrays(layout.GRAPH, spec)

    def _csr(self, side: str) -> Csr:
        return Csr(*(self._graph[f"{side}_{part}"] for part in ("indptr", "indices", "relation", "triple")))

    def _provenance(self, name: str) -> Provenance:
        return Provenance(self._graph[f"{name}_indptr"], self._graph[name])

    @cached_property
    def out(self) -> Csr:
        """Heads to tails; a triple's id is its position."""
        return self._csr("out")

    @cached_property
    def into(self) -> Csr:
        """Tails to heads."""
        return self._csr("in")

    @cached_property
    def triple_chunks(self) -> Provenance:
        """Triples to the chunks that state them."""
        return self._provenance("triple_chunks")

    @cached_property
    def node_chunks(self) -> Provenance:
        """Nodes to the chunks that mention them."""
        return self._provenance("node_chunks")

    @cached_property
    def chunk_triples(self) -> Provenance:
        """Chunks to the triples that they state."""
        return self._provenance("chunk_triples")

    @cached_property
    def members(self) -> Provenance:
        """Communities to all entities below them."""
        return self._provenance("members")

    @cached_property
    def walk(self) -> Walk:
        """The undirected weighted graph of nodes and chunks."""
        return Walk(*(self._graph[f"walk_{part}"] for part in ("indptr", "indices", "weights", "strength")))

    @cached_property
    def aliases(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        """Alias edges: two nodes and their similarity."""
        return self._graph["alias_source"], self._graph["alias_target"], self._graph["alias_similarity"]

    def heads(self, triples: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the head of each triple id."""
        rows = np.searchsorted(self.out.indptr, triples, side="right") - 1
        return rows.astype(np.int32)

    @cached_property
    def strings(self) -> dict[str, NDArray[Any]]:
        """Vectors of names and relation texts, and who bears them."""
        spec = layout.string_spec(self.n_nodes, self.n_relations, self.dimension)
        return self.snapshot.arrays(layout.STRING_VECTORS, spec)

    def _vectors(self, path: str, n_rows: int) -> NDArray[np.float16]:
        vectors: NDArray[np.float16] = self.snapshot.arrays(path, layout.vector_spec(n_rows, self.dimension))[
            "vectors"
        ]
        return vectors

    @cached_property
    def string_index(self) -> VectorIndex:
        """Index over names and relation texts."""
        return VectorIndex.load(self.snapshot.path, "strings", self.strings["vectors"])

    @cached_property
    def triple_index(self) -> VectorIndex | None:
        """Index over triples as sentences; None where triples are scored from their parts."""
        if not self.has_sentences:
            return None
        vectors = self._vectors(layout.TRIPLE_VECTORS, self.n_triples)
        return VectorIndex.load(self.snapshot.path, "triples", vectors)

    @cached_property
    def chunk_index(self) -> PassageIndex:
        """Index over passages, by their windows."""
        arrays = self.snapshot.arrays(layout.CHUNK_VECTORS, layout.vector_spec(None, self.dimension))
        vectors, owners = arrays["vectors"], None
        if "window_chunk" in arrays:
            arrays = self.snapshot.arrays(layout.CHUNK_VECTORS, layout.window_spec(len(vectors)))
            owners = arrays["window_chunk"]
        index = VectorIndex.load(self.snapshot.path, "chunks", vectors)
        return PassageIndex(index, owners, self.n_chunks)

    @cached_property
    def passage_background(self) -> Background:
        """What the similarity of a question to any passage is like."""
        return self.chunk_index.background()

    @cached_property
    def triple_background(self) -> Background:
        """What the similarity of a question to any triple is like."""
        rows = sample_rows(self.n_triples)
        if self.triple_index is not None:
            return Background(self.triple_index.vectors[rows].view(np.uint16), self.n_triples)
        strings, ids = self.strings, rows.astype(np.int32)
        parts = (
            strings["node_string"][self.heads(ids)],
            strings["relation_string"][self.out.relation[ids]],
            strings["node_string"][self.out.indices[ids]],
        )
        mean = np.mean([strings["vectors"][part].astype(np.float32) for part in parts], axis=0)
        return Background(mean.astype(np.float16).view(np.uint16), self.n_triples)

    @cached_property
    def community_index(self) -> VectorIndex:
        """Index over communities, by the mean of their keywords."""
        return VectorIndex.load(
            self.snapshot.path, "communities", self._vectors(layout.COMMUNITY_VECTORS, self.n_communities)
        )

    @cached_property
    def lexicon(self) -> Lexicon:
        """Names to nodes."""
        return Lexicon.from_arrays(self.snapshot.arrays("lexicon.arrow", LEXICON_SPEC))

    @cached_property
    def lexical(self) -> LexicalIndex:
        """BM25 over passages."""
        return LexicalIndex.load(self.snapshot.path / "bm25", self.n_chunks)

    @cached_property
    def titles(self) -> TitleIndex:
        """Words of the passages' titles; read from the table where a snapshot has no file of them."""
        if layout.TITLES not in self.snapshot.manifest.files:
            return TitleIndex(title_arrays(self.chunks.titles(), self.lexical), self.lexical)
        arrays = self.snapshot.arrays(layout.TITLES, layout.title_spec(self.n_chunks))
        return TitleIndex(arrays, self.lexical)

    @cached_property
    def relation_words(self) -> RelationWords:
        """Words of relations; indexed when first used where a snapshot has no index of them."""
        folder, names = self.snapshot.path / layout.RELATION_TERMS, self.relation_names
        known = folder.is_dir()
        index = LexicalIndex.load(folder, len(names)) if known else LexicalIndex.build(relation_texts(names))
        return RelationWords(index, names)

    def _column(self, table: str, column: str) -> pa.Array:
        return self.snapshot.table(table, [column])[column].combine_chunks()

    @cached_property
    def names(self) -> NodeNames:
        """Names and types of nodes; read from the tables where a snapshot has no file of them."""
        if layout.NAMES in self.snapshot.manifest.files:
            spec = name_spec(self.n_nodes, self.n_entities)
            return NodeNames.from_arrays(self.snapshot.arrays(layout.NAMES, spec))
        entities = self.snapshot.table("entities", ["name", "type"])
        values = self.snapshot.table("attributes", ["value"])["value"]
        names = pa.chunked_array([*entities["name"].chunks, *values.chunks], pa.string())
        return NodeNames.from_arrays(name_arrays(names, entities["type"]))

    @cached_property
    def relation_names(self) -> list[str]:
        """Display names of relations."""
        names: list[str] = self._column("relations", "name").to_pylist()
        return names

    @cached_property
    def community_names(self) -> list[str]:
        """Names of communities."""
        names: list[str] = self._column("communities", "name").to_pylist()
        return names

    @cached_property
    def chunks(self) -> ChunkTable:
        """What is stored of chunks."""
        return ChunkTable(self.snapshot)

    def name(self, node: int) -> str:
        """Return the display name of a node."""
        return self.names.name(node)

    def type_of(self, node: int) -> str:
        """Return the type of a node, empty where none is known."""
        return self.names.type_of(node) if node < self.n_entities else ""

    def homonyms(self, nodes: NDArray[np.int32]) -> frozenset[int]:
        """Return those of some nodes whose name another node bears too."""
        strings = self.strings["node_string"][nodes]
        indptr = self.strings["string_nodes_indptr"]
        return frozenset(nodes[indptr[strings + 1] - indptr[strings] > 1].tolist())

    def with_scratch(self, run: Callable[[PushScratch], T]) -> T:
        """Call `run` with scratch arrays that no other thread uses meanwhile."""
        with self._lock:
            scratch = self._idle.pop() if self._idle else None
        if scratch is None:
            n = self.n_nodes + self.n_chunks
            lists = np.empty((2, n + 1), np.int32)
            scratch = PushScratch(np.zeros((n, 2), np.float64), *lists)
        result = run(scratch)
        with self._lock:
            self._idle.append(scratch)
        return result

    def check(self) -> None:
        """Map every array file and check its names, dtypes and shapes; reads none of their contents.

        Raises
        ------
        SnapshotError
            A file is missing, truncated or holds other arrays than it should.
        """
        for part in (
            "_graph",
            "strings",
            "triple_index",
            "chunk_index",
            "community_index",
            "lexicon",
            "names",
        ):
            getattr(self, part)

    @property
    def folder(self) -> Path:
        """The snapshot's directory."""
        return self.snapshot.path
