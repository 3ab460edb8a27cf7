"""Graphs with communities planted in them, as arguments of `build_tree`, and how well they are found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from ytrag_core.tree.features import TripleArrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PlantedGraph", "Recipe", "Score", "plant", "score"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """What to plant.

    Attributes
    ----------
    n_entities, n_groups : int
    edges_per_entity : float
    inside : float
        Share of the edges whose ends are drawn from one group; the other ends are drawn from all entities.
    likeness : float
        Expected cosine of two names of one group; names of different groups have 0.
    typical : float
        Share of the edges with one of the five relations typical of their head's group, else any.
    n_relations : int
    dimension : int
    exponent : float
        Group sizes follow a power law ``P(size) ~ size ** -exponent`` between a fifth and ten times the mean.
    seed : int
    """

    n_entities: int = 20_000
    n_groups: int = 400
    edges_per_entity: float = 4.0
    inside: float = 0.7
    likeness: float = 0.3
    typical: float = 0.5
    n_relations: int = 200
    dimension: int = 128
    exponent: float = 2.0
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PlantedGraph:
    """Triples with vectors, and (n_entities,) int64 `groups`, the truth."""

    triples: TripleArrays
    groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Score:
    """NMI, adjusted Rand index, number of communities and share of entities in one."""

    nmi: float
    ari: float
    count: int
    coverage: float


def plant(recipe: Recipe) -> PlantedGraph:
    """Make a graph; ids carry no information about the groups."""
    rng = np.random.default_rng(recipe.seed)
    n = recipe.n_entities
    groups = _groups(recipe, rng)
    by_group = np.argsort(groups, kind="stable")
    stop = np.cumsum(np.bincount(groups, minlength=recipe.n_groups))
    head = rng.integers(0, n, int(n * recipe.edges_per_entity))
    own = groups[head]
    start = np.where(own > 0, stop[own - 1], 0)
    inner = by_group[start + (rng.random(len(head)) * (stop[own] - start)).astype(np.int64)]
    tail = np.where(rng.random(len(head)) < recipe.inside, inner, rng.integers(0, n, len(head)))
    typical = rng.integers(0, recipe.n_relations, (recipe.n_groups, 5))
    relation = np.where(
        rng.random(len(head)) < recipe.typical,
        typical[own, rng.integers(0, 5, len(head))],
        rng.integers(0, recipe.n_relations, len(head)),
    )
    places = _unit(rng.standard_normal((recipe.n_groups, recipe.dimension), np.float32))
    strings = np.empty((n + recipe.n_relations, recipe.dimension), np.float16)
    for first in range(0, n, 65_536):
        block = groups[first : first + 65_536]
        noise = _unit(rng.standard_normal((len(block), recipe.dimension), np.float32))
        near, far = np.float32(np.sqrt(recipe.likeness)), np.float32(np.sqrt(1 - recipe.likeness))
        strings[first : first + len(block)] = _unit((near * places[block] + far * noise).astype(np.float32))
    strings[n:] = _unit(rng.standard_normal((recipe.n_relations, recipe.dimension), np.float32))
    rows = np.arange(n + recipe.n_relations, dtype=np.int32)
    triples = TripleArrays(
        n,
        recipe.n_relations,
        head.astype(np.int32),
        relation.astype(np.int32),
        tail.astype(np.int32),
        rows[:n],
        rows[n:],
        strings,
    )
    return PlantedGraph(triples, groups)


def score(truth: NDArray[np.int64], labels: NDArray[np.int32]) -> Score:
    """Compare labels with the truth; negative ones are in no community."""
    return Score(
        float(normalized_mutual_info_score(truth, labels)),
        float(adjusted_rand_score(truth, labels)),
        len(np.unique(labels[labels >= 0])),
        float(np.mean(labels >= 0)),
    )


def _groups(recipe: Recipe, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw sizes by the power law, scale them to the number of entities and shuffle."""
    low, high, power = 0.2, 10.0, 1 - recipe.exponent
    share = (low**power + rng.random(recipe.n_groups) * (high**power - low**power)) ** (1 / power)
    groups = rng.choice(recipe.n_groups, recipe.n_entities, p=share / share.sum())
    return np.asarray(groups, np.int64)


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
