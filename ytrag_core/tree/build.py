"""From triples and string vectors to the knowledge tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import GraphFormatError
from ytrag_core.tree.dual import dual_graph
from ytrag_core.tree.features import TripleArrays, gather_features
from ytrag_core.tree.hierarchy import grow
from ytrag_core.tree.model import KnowledgeTree
from ytrag_core.tree.naming import community_name
from ytrag_core.workers import open_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.config import TreeSettings
    from ytrag_core.embedding.index import VectorIndex
    from ytrag_core.tree.hierarchy import Community

__all__ = ["build_tree"]


def build_tree(
    *,
    n_entities: int,
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    n_nodes: int,
    n_relations: int,
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    string_vectors: NDArray[np.float16],
    entity_names: Sequence[str],
    relation_names: Sequence[str],
    settings: TreeSettings,
    string_index: VectorIndex | None = None,
    progress: Callable[[int, int], None] | None = None,
    n_threads: int | None = None,
) -> tuple[KnowledgeTree, NDArray[np.float16]]:
    """Build the tree of communities over all entities.

    Parameters
    ----------
    n_entities : int
        Entities are the nodes below it.
    head, relation, tail : (n_triples,) int32
        Heads below `n_entities`, tails below `n_nodes`: one at or above `n_entities` is an attribute value.
    n_nodes, n_relations : int
    node_string : (n_nodes,) int32
        Row of each node's name in `string_vectors`.
    relation_string : (n_relations,) int32
    string_vectors : (n_strings, d) float16
        Encoded strings, finite.
    entity_names : sequence of n_entities str
        Display names.
    relation_names : sequence of n_relations str
    settings : TreeSettings
    string_index : VectorIndex, optional
        Over `string_vectors`, for ``init="dual"``; else the names' vectors are indexed here, by one thread.
    progress : Callable, optional
        Called with (done, total); each entity counts twice, for its vector and for its leaf.
    n_threads : int, optional
        Defaults to one a core; the result is the same for any number.

    Returns
    -------
    tree : KnowledgeTree
    vectors : (n_entities, 3 d) float16
        The entity vectors.

    Raises
    ------
    GraphFormatError
        If an array is of another type or shape, or an id is out of range.

    Notes
    -----
    Ids are taken in the order given: k-means sums floats and draws its sample in that order, so a caller that
    wants the same tree for permuted input gives ids in a canonical order (ytrag sorts entities by key).
    """
    triples = TripleArrays(
        n_entities, n_relations, head, relation, tail, node_string, relation_string, string_vectors
    )
    _check(triples, n_nodes, len(entity_names), len(relation_names))
    report = progress or (lambda done, total: None)
    with open_workers(n_threads) as workers:
        features, vectors = gather_features(
            triples, workers, lambda done: report(done, 2 * n_entities), settings.jaccard
        )
        graph = (
            dual_graph(triples, features, settings, string_index, workers)
            if settings.init == "dual"
            else None
        )
        communities = grow(
            features, graph, settings, workers, lambda done: report(n_entities + done, 2 * n_entities)
        )
    return _assemble(communities, n_entities, vectors.shape[1], entity_names, relation_names), vectors


def _assemble(
    communities: list[Community],
    n_entities: int,
    width: int,
    entity_names: Sequence[str],
    relation_names: Sequence[str],
) -> KnowledgeTree:
    """Lay the communities out as arrays, ordered by level, then smallest member."""
    order = sorted(range(len(communities)), key=lambda c: (communities[c].level, communities[c].members[0]))
    new_id = np.full(len(communities) + 1, -1, np.int32)
    new_id[order] = np.arange(len(order), dtype=np.int32)
    ordered = [communities[old] for old in order]
    leaf = np.full(n_entities, -1, np.int32)
    vectors = np.empty((len(ordered), width), np.float32)
    for community_id, community in enumerate(ordered):
        vectors[community_id] = community.vector
        if community.is_leaf:
            leaf[community.members] = community_id
    members_indptr, members = _rows([community.members for community in ordered])
    keywords_indptr, keywords = _rows([community.keywords for community in ordered])
    return KnowledgeTree(
        leaf=leaf,
        level=np.array([community.level for community in ordered], np.int32),
        parent=np.array([new_id[community.parent] for community in ordered], np.int32),
        centre=np.array([community.keywords[0] for community in ordered], np.int32),
        keywords_indptr=keywords_indptr,
        keywords=keywords,
        members_indptr=members_indptr,
        members=members,
        size=np.diff(members_indptr).astype(np.int32),
        names=[community_name(c.keywords, c.code, entity_names, relation_names) for c in ordered],
        vectors=vectors,
    )


def _rows(rows: list[NDArray[np.int32]]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Concatenate rows and return their pointers too."""
    indptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    return indptr, np.concatenate([np.empty(0, np.int32), *rows])


def _check(triples: TripleArrays, n_nodes: int, n_entity_names: int, n_relation_names: int) -> None:
    """Refuse arrays that the kernels would read out of bounds."""
    n_strings = triples.string_vectors.shape[0] if triples.string_vectors.ndim == 2 else 0
    if triples.string_vectors.dtype != np.float16 or triples.string_vectors.ndim != 2:
        raise GraphFormatError(
            f"string_vectors are {triples.string_vectors.dtype} of shape {triples.string_vectors.shape}; "
            "wanted float16 of shape (n_strings, d): convert them with astype(np.float16)"
        )
    if not 0 <= triples.n_entities <= n_nodes:
        raise GraphFormatError(
            f"{triples.n_entities} entities in {n_nodes} nodes; entities are the first of the nodes"
        )
    _check_ids("head", triples.head, len(triples.head), triples.n_entities)
    _check_ids("relation", triples.relation, len(triples.head), triples.n_relations)
    _check_ids("tail", triples.tail, len(triples.head), n_nodes)
    _check_ids("node_string", triples.node_string, n_nodes, n_strings)
    _check_ids("relation_string", triples.relation_string, triples.n_relations, n_strings)
    for name, found, wanted in (
        ("entity_names", n_entity_names, triples.n_entities),
        ("relation_names", n_relation_names, triples.n_relations),
    ):
        if found != wanted:
            raise GraphFormatError(f"{name} has {found} names; wanted one for each id, {wanted}")
    for name, array in (("string_vectors", triples.string_vectors), ("head", triples.head)):
        if not array.flags.c_contiguous:
            raise GraphFormatError(f"{name} is not C-contiguous; pass numpy.ascontiguousarray of it")


def _check_ids(name: str, ids: NDArray[np.int32], length: int, bound: int) -> None:
    """Refuse an array of ids of another type or length, or with an id outside ``0 ... bound``."""
    if ids.dtype != np.int32 or ids.shape != (length,) or not ids.flags.c_contiguous:
        raise GraphFormatError(
            f"{name} is {ids.dtype} of shape {ids.shape}; wanted contiguous int32 of shape ({length},)"
        )
    if length and not 0 <= int(ids.min()) <= int(ids.max()) < bound:
        raise GraphFormatError(
            f"{name} holds ids from {ids.min()} to {ids.max()}; they must be at least 0 and below {bound}"
        )
