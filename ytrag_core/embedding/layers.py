"""Builds the layers of a proximity graph, whose links one follows to the nearest of many vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.partition import partition
from ytrag_core.kernels.csr import csr_from_edges
from ytrag_core.kernels.neighbour_links import add_back_links, choose_links, look_around, nearest_in_set
from ytrag_core.workers import blocks

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ytrag_core.workers import Workers

    Step = Callable[[float], None]

__all__ = ["N_NEAR", "SET_ROWS", "GraphLayers", "Layer", "M", "build_layers"]

M = 12
"""Links of a node on each upper layer at most; on the bottom layer twice as many."""

N_NEAR = 24
"""Neighbours of a node that are kept beside its links."""

SET_ROWS = 512
"""Rows of a set of a partition at most: their products fit into a second-level cache."""

_PARTITIONS = 8
_NEAREST = 6
_PASSES = 1
_REACH = 12
_STEPS = _PARTITIONS + 2 * _PASSES
_BLOCK_NODES = 2048
_SEED = 100


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """Nodes and their links on one layer.

    Attributes
    ----------
    nodes
        (m,) int32, ascending.
    links
        (m, n_links) int32 nodes, the nearest first, then -1.
    """

    nodes: NDArray[np.int32]
    links: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class GraphLayers:
    """A hierarchical navigable small world.

    Attributes
    ----------
    layers
        The bottom layer, of all nodes, first; each further one has about a twelfth of the nodes below.
    near
        (n, 24) int32, nodes near to each node, best first, then -1. Not quite the nearest: a few are
        missed.
    """

    layers: tuple[Layer, ...]
    near: NDArray[np.int32]

    @property
    def entry(self) -> int:
        """The node at which a search begins, on the top layer."""
        return int(self.layers[-1].nodes[0])


def build_layers(
    rows: NDArray[np.float32], workers: Workers, progress: Callable[[int, int], None] | None = None
) -> GraphLayers:
    """Build the graph of some rows.

    Parameters
    ----------
    rows
        (n, d) float32, unit-norm, at least one.
    workers
        Threads; their number changes nothing.
    progress
        Called with (rows done, all rows), in fractions of the work.

    Returns
    -------
    GraphLayers

    Notes
    -----
    The layers are those of Malkov and Yashunin (arXiv 1603.09320), and so is the choice of links among
    candidates. The candidates are not found by searching the graph while it grows, one node after the
    other, which waits for memory: all rows are cut into small sets of similar ones, eight times at random,
    and each row takes its six nearest of every set it is in. That is matrix products, on any number of
    threads. Where a row stands at the border of a set, these include the longer links that a search needs.
    One look at the neighbours' neighbours finds most of the nearest that the sets have missed.
    """
    n = len(rows)
    rng = np.random.default_rng(_SEED)
    height = np.floor(-np.log1p(-rng.random(n)) / np.log(M)).astype(np.int32)
    layers, near = [], []
    total = sum(int(np.count_nonzero(height >= level)) for level in range(int(height.max()) + 1))
    done = 0
    for level in range(int(height.max()) + 1):
        nodes = np.flatnonzero(height >= level).astype(np.int32)
        step = _report(progress, done, total, n, len(nodes))
        some, n_links = (rows[nodes], M) if level else (rows, 2 * M)
        links, nearest = _link(some, n_links, rng, workers, step)
        near.append(nearest)
        layers.append(Layer(nodes, np.where(links < 0, np.int32(-1), nodes[links])))
        done += len(nodes)
    return GraphLayers(tuple(layers), near[0])


def _link(
    rows: NDArray[np.float32], n_links: int, rng: np.random.Generator, workers: Workers, step: Step
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (n, n_links) int32 links of the rows among each other and (n, 24) int32 near ones."""
    n = len(rows)
    ids, scores = _candidates(rows, rng, workers, step)
    near = np.empty((n, N_NEAR), np.int32)
    near_scores = np.empty((n, N_NEAR), np.float32)
    chosen = np.empty((n, n_links), np.int32)
    links = np.empty((n, n_links), np.int32)

    def choose(block: slice) -> None:
        choose_links(rows, ids, scores, block.start, block.stop, near, near_scores, chosen)

    def look(block: slice) -> None:
        look_around(rows, links, _REACH, block.start, block.stop, near, near_scores)
        ids[block, -N_NEAR:] = near[block]
        scores[block, -N_NEAR:] = near_scores[block]

    def add_back() -> None:
        is_link = chosen >= 0
        source = np.repeat(np.arange(n, dtype=np.int32), is_link.sum(axis=1))
        indptr, sources, _, _ = csr_from_edges(chosen[is_link], source, np.zeros(len(source), np.int32), n)
        _each_block(
            workers, n, lambda block: add_back_links(rows, chosen, indptr, sources, *_ends(block), links)
        )

    _each_block(workers, n, choose)
    add_back()
    for turn in range(_PASSES):
        step((_PARTITIONS + 2 * turn) / _STEPS)
        _each_block(workers, n, look)
        _each_block(workers, n, choose)
        add_back()
    step(1.0)
    return links, near


def _candidates(
    rows: NDArray[np.float32], rng: np.random.Generator, workers: Workers, step: Step
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return (n, 72) int32 rows and float32 products: six of each partition, and room for 24 more."""
    n = len(rows)
    ids = np.full((n, _PARTITIONS * _NEAREST + N_NEAR), -1, np.int32)
    scores = np.full(ids.shape, -np.inf, np.float32)
    one_set = n <= SET_ROWS
    k = _PARTITIONS * _NEAREST if one_set else _NEAREST
    for turn in range(1 if one_set else _PARTITIONS):

        def fill(members: NDArray[np.int32], first: int = turn * k) -> None:
            some = rows[members]
            nearest_in_set(some @ some.T, members, first, k, ids, scores)

        for _ in workers.map(fill, partition(rows, SET_ROWS, rng, workers)):
            pass
        step((turn + 1) / _STEPS)
    return ids, scores


def _each_block(workers: Workers, n: int, work: Callable[[slice], None]) -> None:
    for _ in workers.map(work, blocks(n, _BLOCK_NODES)):
        pass


def _ends(block: slice) -> tuple[int, int]:
    return block.start, block.stop


def _report(progress: Callable[[int, int], None] | None, done: int, total: int, n: int, n_nodes: int) -> Step:
    """Return a function that takes the share of a layer that is done."""
    if progress is None:
        return lambda share: None
    report = progress
    return lambda share: report(int(n * (done + share * n_nodes) / total), n)
