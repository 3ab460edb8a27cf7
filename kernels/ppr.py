"""Personalised PageRank on an undirected weighted graph: forward push and power iteration.

Both solve ``x = (1 - damping) * seeds + damping * P' x``, where a walk steps to a neighbour in proportion
to the weight of the edge, and a walk that stands on a node without edges starts again at the seeds.

Positions in the inner loops are unsigned: Numba then leaves out its test for a negative index, which takes
nearly half of the time of a sparse product.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float32, float64, int32, int64, prange

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROWS_PER_TASK = 512


@kernel(
    (
        ro(int64), ro(int32), ro(float32), ro(float32), ro(int32), ro(float32),
        float64, float64, int64, rw(float64, 2), rw(int32), rw(int32),
    )
)  # fmt: skip
def ppr_push(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    strength: NDArray[np.float32],
    seed_nodes: NDArray[np.int32],
    seed_weights: NDArray[np.float32],
    damping: float,
    epsilon: float,
    max_pushes: int,
    out_mass: NDArray[np.float64],
    out_queue: NDArray[np.int32],
    out_touched: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Approximate personalised PageRank around some seeds, touching only what the mass reaches.

    Parameters
    ----------
    indptr, indices, weights, strength
        The walk graph as `walk_csr` returns it: symmetric, weights positive.
    seed_nodes : (n_seeds,) int32 in [0, n_nodes)
        Where walks start; repeats add up.
    seed_weights : (n_seeds,) float32, finite, not negative
        Share of each seed; sums to 1.
    damping : float in [0, 1)
        Probability of going on at each step.
    epsilon : float, at least 1e-15
        A node is pushed while its residual exceeds `epsilon` times the length of its row.
    max_pushes : int
        Stop after so many pushes; what is left is then less exact, not lost. Zero or less: no limit.
    out_mass : (n_nodes, 2) float64
        Scratch: residual and estimate of each node. All zero at entry and again on return.
    out_queue, out_touched : (n_nodes + 1,) int32
        Scratch; their content does not matter.

    Returns
    -------
    nodes : (n_touched,) int32
        The nodes that mass has reached, in the order of its arrival.
    scores : (n_touched,) float32
        A lower bound of each one's PageRank, short of it by less than ``epsilon * strength[node]`` times
        the largest quotient of row length and strength in the graph.

    Raises
    ------
    ValueError
        If a parameter or a seed is out of range, or a scratch array is too small. Scratch is then as it was.

    Notes
    -----
    Andersen, Chung and Lang, "Local Graph Partitioning using PageRank Vectors" (2006), section 3, with a
    first-in first-out queue. Ours differs in three ways. The walk is not lazy and follows weights. The
    threshold counts the entries of a row, not their weight: a push costs as many steps as the row is long
    and settles more than ``(1 - damping) * epsilon`` for each, so a query reads at most
    ``1 / (epsilon * (1 - damping))`` entries on any graph, hubs included, whatever the scale of the weights.
    And a touched node is credited with ``1 - damping`` of the residual left on it, the part that certainly
    ends there. A walk meets a node without edges only by starting there, so seeds without edges are never
    pushed: all shares are scaled up beforehand by what would come back from them.

    An entry moves 8 bytes of graph, 32 of mass, 16 of `indptr` and 8 of lists; 3 flops. Whether it is the
    first to reach a node, and whether it lifts the node over its threshold, no processor can guess: both
    lists are written at every entry, one beyond their end, and the end moves where that was right. That is
    more than twice as fast as to branch.
    """
    n_nodes = indptr.shape[0] - 1
    if not (damping >= 0.0 and damping < 1.0):
        raise ValueError("damping must be in [0, 1)")
    if not (epsilon >= 1e-15):
        raise ValueError("epsilon must be at least 1e-15")
    if seed_nodes.shape[0] != seed_weights.shape[0]:
        raise ValueError("seed_nodes and seed_weights must have one length")
    if out_mass.shape[0] < n_nodes or out_mass.shape[1] != 2:
        raise ValueError("out_mass must be (n_nodes, 2)")
    if out_queue.shape[0] <= n_nodes or out_touched.shape[0] <= n_nodes:
        raise ValueError("out_queue and out_touched must have n_nodes + 1 entries")
    for i in range(seed_nodes.shape[0]):
        if seed_nodes[i] < 0 or seed_nodes[i] >= n_nodes:
            raise ValueError("a seed is outside [0, n_nodes)")
        if not (seed_weights[i] >= 0 and seed_weights[i] < np.inf):
            raise ValueError("a seed weight is negative or not finite")

    total = 0.0
    stuck = 0.0
    for i in range(seed_nodes.shape[0]):
        node = seed_nodes[i]
        total += np.float64(seed_weights[i])
        if indptr[node] == indptr[node + 1]:
            stuck += np.float64(seed_weights[i])
    scale = total / (total - damping * stuck) if stuck > 0.0 else 1.0
    n_touched = 0
    for i in range(seed_nodes.shape[0]):
        if seed_weights[i] > 0:
            node = seed_nodes[i]
            if out_mass[node, 0] == 0.0:
                out_touched[n_touched] = node
                n_touched += 1
            out_mass[node, 0] += scale * seed_weights[i]
    head = 0
    n_queued = 0
    for i in range(n_touched):
        node = out_touched[i]
        length = indptr[node + 1] - indptr[node]
        if length > 0 and out_mass[node, 0] > epsilon * length:
            out_queue[n_queued] = node
            n_queued += 1

    columns = indices.view(np.uint32)
    n_pushes = 0
    tail = n_queued
    while head != tail and (max_pushes <= 0 or n_pushes < max_pushes):
        n_pushes += 1
        node = np.uint32(out_queue[head])
        head = 0 if head == n_nodes else head + 1
        residual = out_mass[node, 0]
        out_mass[node, 0] = 0.0
        out_mass[node, 1] += (1.0 - damping) * residual
        share = damping * residual / strength[node]
        for entry in range(np.uint64(indptr[node]), np.uint64(indptr[node + np.uint32(1)])):
            neighbour = columns[entry]
            before = out_mass[neighbour, 0]
            after = before + share * weights[entry]
            out_mass[neighbour, 0] = after
            out_touched[n_touched] = neighbour
            n_touched += (before == 0.0) & (after > 0.0) & (out_mass[neighbour, 1] == 0.0)
            bar = epsilon * (indptr[neighbour + np.uint32(1)] - indptr[neighbour])
            out_queue[tail] = neighbour
            tail += (before <= bar) & (after > bar)
            tail = 0 if tail > n_nodes else tail

    nodes = out_touched[:n_touched].copy()
    scores = np.empty(n_touched, np.float32)
    for i in range(n_touched):
        node = nodes[i]
        scores[i] = out_mass[node, 1] + (1.0 - damping) * out_mass[node, 0]
        out_mass[node, 0] = 0.0
        out_mass[node, 1] = 0.0
    return nodes, scores


@kernel(
    (
        ro(int64), ro(int32), ro(float32), ro(float32), ro(float64), ro(float64),
        float64, float64, rw(float32), int64,
    )
)  # fmt: skip
def pull_rows(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    flow: NDArray[np.float32],
    share: NDArray[np.float64],
    inverse: NDArray[np.float64],
    damping: float,
    restart: float,
    out_flow: NDArray[np.float32],
    task: int,
) -> None:
    """Do one step of the power iteration for the rows of one task.

    Parameters
    ----------
    indptr, indices, weights
        The walk graph as `walk_csr` returns it.
    flow : (n_nodes,) float32
        Rank of each node divided by its strength.
    share : (n_nodes,) float64
        Restart distribution.
    inverse : (n_nodes,) float64
        One over the strength of each node, zero for a node without edges.
    damping : float
        Probability of going on.
    restart : float
        Mass handed to the seeds in this step.
    out_flow : (n_nodes,) float32
        The new `flow`, written for rows ``task * ROWS_PER_TASK`` to ``(task + 1) * ROWS_PER_TASK``.
    task : int
        Which block of rows.

    Notes
    -----
    12 bytes and 2 flops for an entry, 28 bytes and 4 flops for a row. Sums run in float64.
    """
    columns = indices.view(np.uint32)
    n_nodes = indptr.shape[0] - 1
    for node in range(task * ROWS_PER_TASK, min((task + 1) * ROWS_PER_TASK, n_nodes)):
        inflow = 0.0
        for entry in range(np.uint64(indptr[node]), np.uint64(indptr[node + 1])):
            inflow += np.float64(weights[entry]) * np.float64(flow[columns[entry]])
        out_flow[node] = inverse[node] * (damping * inflow + restart * share[node])


@kernel(
    (
        ro(int64), ro(int32), ro(float32), ro(float32), ro(float32),
        float64, int64, float64, boolean,
    ),
    parallel=True,
)  # fmt: skip
def ppr_power(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    weights: NDArray[np.float32],
    strength: NDArray[np.float32],
    seeds: NDArray[np.float32],
    damping: float,
    n_iterations: int,
    tolerance: float,
    threaded: bool,
) -> NDArray[np.float32]:
    """Personalised PageRank of all nodes by power iteration, for graphs of up to some 100,000 nodes.

    Parameters
    ----------
    indptr, indices, weights, strength
        The walk graph as `walk_csr` returns it: symmetric, weights positive.
    seeds : (n_nodes,) float32, finite, not negative, with a positive sum
        Share of each node in the restarts; brought to sum 1 here.
    damping : float in [0, 1)
        Probability of going on at each step.
    n_iterations : int, at least 1
        The most steps to take.
    tolerance : float, not negative
        Stop when a step changes the ranks by no more than this in sum; what is then missing is at most
        ``tolerance * damping / (1 - damping)``. Zero: take all steps, and save the pass that compares.
    threaded : bool
        Whether to spread the rows over threads; the result is bit-equal either way.

    Returns
    -------
    (n_nodes,) float32
        PageRank; sums to 1.

    Raises
    ------
    ValueError
        If lengths, the seeds, `damping`, `n_iterations` or `tolerance` are out of range.

    Notes
    -----
    Each row pulls from its neighbours, which a symmetric graph allows, so no two threads write one place;
    the change is summed serially. What waits on nodes without edges needs no pass: mass comes there from
    restarts alone. Ranks are kept in float32 between steps.

    For a step: 12 bytes and 2 flops for an entry, 28 bytes and 4 flops for a node, and 12 bytes and 3
    flops more for a node with a tolerance.
    """
    n_nodes = indptr.shape[0] - 1
    if strength.shape[0] != n_nodes or seeds.shape[0] != n_nodes:
        raise ValueError("strength and seeds must have n_nodes entries")
    if not (damping >= 0.0 and damping < 1.0) or n_iterations < 1 or not (tolerance >= 0.0):
        raise ValueError("wanted damping in [0, 1), n_iterations of 1 or more, tolerance of 0 or more")
    total = 0.0
    for node in range(n_nodes):
        if not (seeds[node] >= 0 and seeds[node] < np.inf):
            raise ValueError("a seed weight is negative or not finite")
        total += np.float64(seeds[node])
    if total == 0.0:
        raise ValueError("the seeds sum to zero")
    share = np.empty(n_nodes, np.float64)
    inverse = np.zeros(n_nodes, np.float64)
    flow = np.zeros(n_nodes, np.float32)
    latest = np.empty(n_nodes, np.float32)
    stuck = 0.0
    for node in range(n_nodes):
        share[node] = np.float64(seeds[node]) / total
        if strength[node] > 0:
            inverse[node] = 1.0 / np.float64(strength[node])
            flow[node] = share[node] * inverse[node]
        else:
            stuck += share[node]
    restart = 1.0
    n_tasks = (n_nodes + ROWS_PER_TASK - 1) // ROWS_PER_TASK
    for _ in range(n_iterations):
        before = restart
        restart = 1.0 - damping + damping * before * stuck
        if threaded:
            for task in prange(n_tasks):
                pull_rows(indptr, indices, weights, flow, share, inverse, damping, restart, latest, task)
        else:
            for task in range(n_tasks):
                pull_rows(indptr, indices, weights, flow, share, inverse, damping, restart, latest, task)
        flow, latest = latest, flow
        if tolerance > 0.0:
            change = abs(restart - before) * stuck
            for node in range(n_nodes):
                change += abs(np.float64(flow[node]) - np.float64(latest[node])) * np.float64(strength[node])
            if change <= tolerance:
                break
    ranks = np.empty(n_nodes, np.float32)
    for node in range(n_nodes):
        if strength[node] > 0:
            ranks[node] = np.float64(flow[node]) * np.float64(strength[node])
        else:
            ranks[node] = restart * share[node]
    return ranks
