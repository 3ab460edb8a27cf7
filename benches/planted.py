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

_MOST_PULL = 1000.0


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
    spectrum : float
        The variance of the i-th coordinate of a name is in proportion to ``i ** -spectrum``: 0 is noise in
        all dimensions; all-MiniLM-L6-v2 gives 50,000 names of a real graph 0.8.
    hubs : float
        An end of an edge falls on an entity in proportion to ``u ** -hubs``, u uniform in (0, 1], up to 1,000
        times the least: 0 for equal degrees.
    seed : int
    """

    n_entities: int = 20_000
    n_groups: int = 400
    edges_per_entity: float = 5.0
    inside: float = 0.7
    likeness: float = 0.3
    typical: float = 0.5
    n_relations: int = 200
    dimension: int = 384
    exponent: float = 2.0
    spectrum: float = 0.0
    hubs: float = 0.7
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
    head, tail = _ends(recipe, groups, rng)
    own = groups[head]
    typical = rng.integers(0, recipe.n_relations, (recipe.n_groups, 5))
    relation = np.where(
        rng.random(len(head)) < recipe.typical,
        typical[own, rng.integers(0, 5, len(head))],
        rng.integers(0, recipe.n_relations, len(head)),
    )
    places = _names(recipe, recipe.n_groups, rng)
    strings = np.empty((n + recipe.n_relations, recipe.dimension), np.float16)
    for first in range(0, n, 65_536):
        block = groups[first : first + 65_536]
        noise = _names(recipe, len(block), rng)
        near, far = np.float32(np.sqrt(recipe.likeness)), np.float32(np.sqrt(1 - recipe.likeness))
        strings[first : first + len(block)] = _unit((near * places[block] + far * noise).astype(np.float32))
    strings[n:] = _names(recipe, recipe.n_relations, rng)
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


def _ends(
    recipe: Recipe, groups: NDArray[np.int64], rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw heads from all entities, and tails from the head's group or from all."""
    n, n_edges = recipe.n_entities, int(recipe.n_entities * recipe.edges_per_entity)
    by_group = np.argsort(groups, kind="stable")
    pull = np.minimum((1.0 - rng.random(n)) ** -recipe.hubs, _MOST_PULL)
    upto = np.concatenate([[0.0], np.cumsum(pull[by_group])])
    border = upto[np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=recipe.n_groups))])]

    def draw(low: NDArray[np.float64] | float, high: NDArray[np.float64] | float) -> NDArray[np.int64]:
        place = np.searchsorted(upto, low + rng.random(n_edges) * (high - low), side="right") - 1
        return by_group[np.minimum(place, n - 1)]

    head = draw(0.0, upto[-1])
    inner = draw(border[groups[head]], border[groups[head] + 1])
    return head, np.where(rng.random(n_edges) < recipe.inside, inner, draw(0.0, upto[-1]))


def _names(recipe: Recipe, n: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw (n, dimension) unit rows of the recipe's spectrum."""
    spread = np.arange(1, recipe.dimension + 1, dtype=np.float32) ** np.float32(-recipe.spectrum / 2)
    return _unit(np.asarray(rng.standard_normal((n, recipe.dimension), np.float32) * spread, np.float32))


def _unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
