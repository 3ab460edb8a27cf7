"""What the tree knows of each entity: its 3d vector and its relation profile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.aggregate import aggregate_rows, incident_triples
from ytrag_core.tree.profiles import EntityProfiles, Profiles, profile_entities
from ytrag_core.workers import blocks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Literal

    from numpy.typing import NDArray

    from ytrag_core.workers import Workers

__all__ = ["EntityFeatures", "TripleArrays", "aggregate_vectors", "gather_features"]

_ROWS_PER_BLOCK = 8192


@dataclass(frozen=True, slots=True, eq=False)
class TripleArrays:
    """The triples and where their strings' vectors lie.

    Attributes
    ----------
    n_entities, n_relations : int
    head, relation, tail : (n_triples,) int32
        A tail at or above `n_entities` is an attribute node.
    node_string : (n_nodes,) int32
    relation_string : (n_relations,) int32
        Rows of `string_vectors`.
    string_vectors : (n_strings, d) float16
    """

    n_entities: int
    n_relations: int
    head: NDArray[np.int32]
    relation: NDArray[np.int32]
    tail: NDArray[np.int32]
    node_string: NDArray[np.int32]
    relation_string: NDArray[np.int32]
    string_vectors: NDArray[np.float16]


@dataclass(frozen=True, slots=True, eq=False)
class EntityFeatures:
    """Vectors and relation profiles of all entities.

    Attributes
    ----------
    bits : (n_entities, 3 d) uint16
        Float16 bits of the entity vectors.
    own : EntityProfiles
    """

    bits: NDArray[np.uint16]
    own: EntityProfiles

    @property
    def n_entities(self) -> int:
        """Rows of `bits`."""
        return len(self.bits)

    @property
    def profiles(self) -> Profiles:
        """Relation profiles of the entities."""
        return self.own.rows


def gather_features(
    triples: TripleArrays,
    workers: Workers,
    report: Callable[[int], None],
    variant: Literal["relation", "neighbour"] = "relation",
) -> tuple[EntityFeatures, NDArray[np.float16]]:
    """Compute the vector and the relation profile of every entity.

    Parameters
    ----------
    triples : TripleArrays
    workers : Workers
    report : Callable
        Called with the number of entities that have their vector.
    variant : {"relation", "neighbour"}
        What relation profiles count; see `profile_entities`.

    Returns
    -------
    features : EntityFeatures
    vectors : (n_entities, 3 d) float16
        The same memory as `features.bits`.
    """
    incidence = incident_triples(triples.head, triples.tail, triples.n_entities)
    vectors = aggregate_vectors(triples, incidence, workers, report)
    own = profile_entities(triples, incidence, variant)
    return EntityFeatures(vectors.view(np.uint16), own), vectors


def aggregate_vectors(
    triples: TripleArrays,
    incidence: tuple[NDArray[np.int64], NDArray[np.int32]],
    workers: Workers,
    report: Callable[[int], None],
) -> NDArray[np.float16]:
    """Return e = mean of [v(head); v(relation); v(tail)] for every entity.

    Parameters
    ----------
    triples : TripleArrays
    incidence : tuple of arrays
        Row pointers and triples of each entity.
    workers : Workers
    report : Callable
        Called with the number of entities done.

    Returns
    -------
    (n_entities, 3 d) float16

    Notes
    -----
    Youtu-GraphRAG (arXiv 2508.19855), section 3.2. The paper does not say what an entity without triples
    gets; ours is [v; 0; v].
    """
    vectors = np.empty((triples.n_entities, 3 * triples.string_vectors.shape[1]), np.float16)
    bits = vectors.view(np.uint16)
    string_bits = triples.string_vectors.view(np.uint16)

    def fill(block: slice) -> int:
        aggregate_rows(
            *incidence,
            triples.head,
            triples.relation,
            triples.tail,
            triples.node_string,
            triples.relation_string,
            string_bits,
            block.start,
            bits[block],
        )
        return int(block.stop)

    for done in workers.map(fill, blocks(triples.n_entities, _ROWS_PER_BLOCK)):
        report(done)
    return vectors
