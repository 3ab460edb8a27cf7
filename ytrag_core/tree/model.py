"""The knowledge tree: nested communities of entities, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["KnowledgeTree"]


@dataclass(frozen=True, slots=True, eq=False)
class KnowledgeTree:
    """Communities ordered by level, then by their smallest member.

    Attributes
    ----------
    leaf : (n_entities,) int32
        The leaf community of every entity.
    level : (n_communities,) int32, ascending
        0 at the top.
    parent : (n_communities,) int32
        -1 at the top, else a community of the level above.
    centre : (n_communities,) int32
        Entity with the highest phi.
    keywords_indptr : (n_communities + 1,) int64
    keywords : (keywords_indptr[-1],) int32
        Entities with the highest phi of each community, best first: the centre leads.
    members_indptr : (n_communities + 1,) int64
    members : (members_indptr[-1],) int32, ascending in each row
        All entities below each community, so an inner one repeats its children's.
    size : (n_communities,) int32
        Members of each community.
    names : list of str
        A readable name of each community.
    vectors : (n_communities, 3 d) float32
        Mean of the members' entity vectors, not normalised.
    """

    leaf: NDArray[np.int32]
    level: NDArray[np.int32]
    parent: NDArray[np.int32]
    centre: NDArray[np.int32]
    keywords_indptr: NDArray[np.int64]
    keywords: NDArray[np.int32]
    members_indptr: NDArray[np.int64]
    members: NDArray[np.int32]
    size: NDArray[np.int32]
    names: list[str]
    vectors: NDArray[np.float32]

    @property
    def n_communities(self) -> int:
        """Communities of all levels."""
        return len(self.level)
