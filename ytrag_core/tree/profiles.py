"""Relation profiles: what S_r of phi compares, as frequencies of codes around an entity or a community."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.phi import phi_pairs
from ytrag_core.kernels.relation_profile import community_profiles, entity_profiles

if TYPE_CHECKING:
    from typing import Literal

    from numpy.typing import NDArray

    from ytrag_core.tree.features import TripleArrays

__all__ = ["EntityProfiles", "Profiles", "profile_entities"]

_TABLE = 4
"""A table of all codes may be so many times longer than what is counted; else codes are numbered anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Profiles:
    """Rows of codes with their frequencies.

    Attributes
    ----------
    indptr : (n + 1,) int64
    codes : (indptr[-1],) int32, ascending in each row
    frequencies : (indptr[-1],) float32
        Sum to one in each row that is not empty.
    """

    indptr: NDArray[np.int64]
    codes: NDArray[np.int32]
    frequencies: NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class EntityProfiles:
    """The profiles of all entities.

    Attributes
    ----------
    rows : Profiles
    counts : (n,) int32
        The frequencies' counts.
    relation_of : (n_codes,) int32
        ``2 * relation + direction`` of each code, direction 1 where the entity is the tail.
    """

    rows: Profiles
    counts: NDArray[np.int32]
    relation_of: NDArray[np.int32]

    def of(self, indptr: NDArray[np.int64], members: NDArray[np.int32]) -> Profiles:
        """Return the profiles of the communities whose members are given as rows.

        Parameters
        ----------
        indptr : (n_communities + 1,) int64
        members : (m,) int32
        """
        own, entries = _entries(self.rows.indptr, members)
        if len(self.relation_of) <= _TABLE * len(entries):
            n_relations = (len(self.relation_of) + 1) // 2
            found = community_profiles(
                self.rows.indptr, self.rows.codes, self.counts, indptr, members, n_relations
            )
            return Profiles(*found)
        codes, local = np.unique(self.rows.codes[entries], return_inverse=True)
        pointers, numbers, frequencies = community_profiles(
            own,
            local.astype(np.int32),
            self.counts[entries],
            indptr,
            np.arange(len(members), dtype=np.int32),
            (len(codes) + 1) // 2,
        )
        return Profiles(pointers, codes[numbers], frequencies)

    def phi(
        self,
        cosine: NDArray[np.float32],
        centres: NDArray[np.int32],
        theirs: Profiles,
        weight: float,
    ) -> NDArray[np.float32]:
        """Score the centre of every community against every community.

        Parameters
        ----------
        cosine : (n, n) float32
            Cosine of each centre's vector with each community's mean.
        centres : (n,) int32
            A member of each community.
        theirs : Profiles
            Of the communities.
        weight : float
            Lambda.

        Returns
        -------
        (n, n) float32
        """
        rows, codes, n_codes = self.rows, theirs.codes, len(self.relation_of)
        if n_codes > _TABLE * len(codes):
            used, local = np.unique(codes, return_inverse=True)
            own, entries = _entries(rows.indptr, centres)
            numbers = np.searchsorted(used, rows.codes[entries]).astype(np.int32)
            rows, codes, n_codes = (
                Profiles(own, numbers, rows.frequencies[entries]),
                local.astype(np.int32),
                len(used),
            )
            centres = np.arange(len(centres), dtype=np.int32)
        return phi_pairs(
            cosine,
            rows.indptr,
            rows.codes,
            rows.frequencies,
            centres,
            theirs.indptr,
            codes,
            theirs.frequencies,
            n_codes,
            weight,
        )


def _entries(
    indptr: NDArray[np.int64], rows: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row pointers of some rows laid side by side, and where their entries are."""
    start, stop = indptr[rows], indptr[rows + 1]
    own = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(stop - start, out=own[1:])
    return own, np.arange(own[-1]) + np.repeat(start - own[:-1], stop - start)


def profile_entities(
    triples: TripleArrays,
    incidence: tuple[NDArray[np.int64], NDArray[np.int32]],
    variant: Literal["relation", "neighbour"],
) -> EntityProfiles:
    """Count the codes of every entity.

    Parameters
    ----------
    triples : TripleArrays
    incidence : tuple of arrays
        Row pointers and triples of each entity.
    variant : {"relation", "neighbour"}
        A code is a (relation, direction), or a (relation, direction, neighbour).

    Returns
    -------
    EntityProfiles
    """
    head, relation, tail = triples.head, triples.relation, triples.tail
    relation_of = np.arange(2 * triples.n_relations, dtype=np.int32)
    if variant == "neighbour":
        # A code of the kernel serves one triple in both directions, so each triple comes as two of one end.
        nobody = np.full(len(head), -1, np.int32)
        outward, of_outward = _number_pairs(relation, tail)
        inward, of_inward = _number_pairs(relation, head)
        relation_of = np.full(2 * max(len(of_outward), len(of_inward)), -1, np.int32)
        relation_of[0 : 2 * len(of_outward) : 2] = 2 * of_outward
        relation_of[1 : 2 * len(of_inward) : 2] = 2 * of_inward + 1
        incidence = _incidence(head, tail, triples.n_entities)
        relation = np.concatenate([outward, inward])
        head, tail = np.concatenate([head, nobody]), np.concatenate([nobody, tail])
    indptr, codes, counts, frequencies = entity_profiles(
        *incidence, head, relation, tail, len(relation_of) // 2
    )
    return EntityProfiles(Profiles(indptr, codes, frequencies), counts, relation_of)


def _number_pairs(
    relation: NDArray[np.int32], node: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each triple's number among the distinct pairs, and each number's relation."""
    width = np.int64(node.max(initial=-1)) + 1
    keys, number = np.unique(relation * width + node, return_inverse=True)
    return number.astype(np.int32), (keys // max(width, 1)).astype(np.int32)


def _incidence(
    head: NDArray[np.int32], tail: NDArray[np.int32], n_entities: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return row pointers and, for each entity, i of the triples it heads and m + i of those it ends."""
    ends = np.concatenate([head, tail])
    inside = np.flatnonzero(ends < n_entities)
    order = inside[np.argsort(ends[inside], kind="stable")]
    indptr = np.zeros(n_entities + 1, np.int64)
    np.cumsum(np.bincount(ends[inside], minlength=n_entities), out=indptr[1:])
    return indptr, order.astype(np.int32)
