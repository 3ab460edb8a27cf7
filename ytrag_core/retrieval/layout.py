"""What a snapshot's array files hold: names, dtypes and shapes, checked when it is opened."""

from __future__ import annotations

import numpy as np

from ytrag_core.storage.arrays import ArraySpec

__all__ = [
    "CHUNK_VECTORS",
    "COMMUNITY_VECTORS",
    "ENTITY_VECTORS",
    "GRAPH",
    "MERGED_VECTORS",
    "METADATA",
    "NAMES",
    "RELATION_TERMS",
    "SENTENCES",
    "STRING_VECTORS",
    "TITLES",
    "TRIPLE_VECTORS",
    "graph_spec",
    "passage_text",
    "string_spec",
    "title_spec",
    "triple_text",
    "vector_spec",
    "window_spec",
]

GRAPH = "graph.arrow"
METADATA = "metadata.arrow"
NAMES = "names.arrow"
SENTENCES = "sentences.arrow"
TITLES = "titles.arrow"
STRING_VECTORS = "vectors/strings.arrow"
RELATION_TERMS = "relation_terms"
TRIPLE_VECTORS = "vectors/triples.arrow"
CHUNK_VECTORS = "vectors/chunks.arrow"
COMMUNITY_VECTORS = "vectors/communities.arrow"
ENTITY_VECTORS = "vectors/entities.arrow"
MERGED_VECTORS = "vectors/merged.arrow"


def passage_text(title: str, text: str) -> str:
    """Return what is encoded and indexed of a passage."""
    return f"{title}\n{text}" if title else text


def triple_text(head: str, relation: str, tail: str) -> str:
    """Return a triple as one sentence for the encoder."""
    return f"{head} {relation} {tail}"


def _ints(dtype: type[np.generic], length: int | None = None) -> ArraySpec:
    return ArraySpec(np.dtype(dtype), 1, length=length)


def graph_spec(n_nodes: int, n_triples: int, n_chunks: int, n_communities: int) -> dict[str, ArraySpec]:
    """Return the arrays of `graph.arrow`.

    `out_*` and `in_*` are the CSR in both directions; `walk_*` the undirected weighted graph of nodes and,
    behind them, chunks; `*_chunks` provenance and `chunk_triples` its reverse; `members` the entities below
    each community.
    """
    spec: dict[str, ArraySpec] = {}
    for side in ("out", "in"):
        spec[f"{side}_indptr"] = _ints(np.int64, n_nodes + 1)
        for payload in ("indices", "relation", "triple"):
            spec[f"{side}_{payload}"] = _ints(np.int32, n_triples)
    for name, rows in (
        ("triple_chunks", n_triples),
        ("node_chunks", n_nodes),
        ("chunk_triples", n_chunks),
        ("members", n_communities),
    ):
        spec[f"{name}_indptr"] = _ints(np.int64, rows + 1)
        spec[name] = _ints(np.int32)
    spec["walk_indptr"] = _ints(np.int64, n_nodes + n_chunks + 1)
    spec["walk_indices"] = _ints(np.int32)
    spec["walk_weights"] = _ints(np.float32)
    spec["walk_strength"] = _ints(np.float32, n_nodes + n_chunks)
    spec["alias_source"] = _ints(np.int32)
    spec["alias_target"] = _ints(np.int32)
    spec["alias_similarity"] = _ints(np.float32)
    return spec


def title_spec(n_chunks: int) -> dict[str, ArraySpec]:
    """Return the arrays of `titles.arrow`: the terms of each passage's title, as BM25 numbers them."""
    return {"title_indptr": _ints(np.int64, n_chunks + 1), "title_terms": _ints(np.int32)}


def vector_spec(n_rows: int | None, dimension: int) -> dict[str, ArraySpec]:
    """Return what every vector file has: float16 rows; those of texts have `hashes` beside them."""
    return {"vectors": ArraySpec(np.dtype(np.float16), 2, length=n_rows, width=dimension)}


def string_spec(n_nodes: int, n_relations: int, dimension: int) -> dict[str, ArraySpec]:
    """Return the arrays of `vectors/strings.arrow`: unique names and relation texts, and who bears them."""
    return {
        "vectors": ArraySpec(np.dtype(np.float16), 2, width=dimension),
        "hashes": ArraySpec(np.dtype(np.uint64), 2, width=2),
        "node_string": _ints(np.int32, n_nodes),
        "relation_string": _ints(np.int32, n_relations),
        "string_nodes_indptr": _ints(np.int64),
        "string_nodes": _ints(np.int32, n_nodes),
    }


def window_spec(n_windows: int) -> dict[str, ArraySpec]:
    """Return what `vectors/chunks.arrow` has beside its rows, one for each window of a passage.

    `window_chunk` is the passage of a window, ascending; `window_start` and `window_end` are the characters
    of the passage's text that it holds. Knowledge bases of earlier versions have none of them: there a
    passage is one window.
    """
    return {name: _ints(np.int32, n_windows) for name in ("window_chunk", "window_start", "window_end")}
