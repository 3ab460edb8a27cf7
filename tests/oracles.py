"""What the graph kernels should return, in plain Python, written from the definitions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows = list[list[tuple[int, int, int]]]
WalkGraph = list[dict[int, float]]


def grouped_edges(rows: Sequence[int], cols: Sequence[int], relation: Sequence[int], n_rows: int) -> Rows:
    """(column, relation, edge) of every row, in input order."""
    return [[(cols[i], relation[i], i) for i in range(len(rows)) if rows[i] == row] for row in range(n_rows)]


def undirected_weights(
    src: Sequence[int], dst: Sequence[int], weight: Sequence[float], n_nodes: int
) -> WalkGraph:
    """Neighbour -> summed weight of every node, without self loops and weights of zero."""
    parts: list[dict[int, list[float]]] = [{} for _ in range(n_nodes)]
    for a, b, w in zip(src, dst, weight, strict=True):
        if a != b and w > 0:
            parts[a].setdefault(b, []).append(w)
            parts[b].setdefault(a, []).append(w)
    return [{b: math.fsum(values) for b, values in row.items()} for row in parts]


def row_positions(indptr: Sequence[int], nodes: Sequence[int], max_per_row: int) -> list[tuple[int, int]]:
    """(position, owner) of the entries of some rows; a cut row gives entries floor(j * length / cap)."""
    found = []
    for owner, node in enumerate(nodes):
        row = list(range(indptr[node], indptr[node + 1]))
        if 0 < max_per_row < len(row):
            row = [row[math.floor(j * len(row) / max_per_row)] for j in range(max_per_row)]
        found += [(position, owner) for position in row]
    return found


def pagerank(graph: WalkGraph, seeds: Sequence[float], damping: float) -> list[float]:
    """Personalised PageRank, by Gaussian elimination on its equation.

    x = (1 - damping) * s + damping * (P' x + s * sum of x over nodes without edges), s summing to 1.
    """
    n = len(graph)
    total = math.fsum(seeds)
    share = [seed / total for seed in seeds]
    matrix = [[0.0] * n + [(1 - damping) * share[i]] for i in range(n)]
    for i in range(n):
        matrix[i][i] += 1.0
    for j, row in enumerate(graph):
        strength = math.fsum(row.values())
        for i in range(n):
            probability = row.get(i, 0.0) / strength if row else share[i]
            matrix[i][j] -= damping * probability
    for pivot in range(n):
        best = max(range(pivot, n), key=lambda r: abs(matrix[r][pivot]))
        matrix[pivot], matrix[best] = matrix[best], matrix[pivot]
        for r in range(n):
            if r != pivot and matrix[r][pivot] != 0.0:
                factor = matrix[r][pivot] / matrix[pivot][pivot]
                matrix[r] = [a - factor * b for a, b in zip(matrix[r], matrix[pivot], strict=True)]
    return [matrix[i][n] / matrix[i][i] for i in range(n)]


def best_ids(scores: Sequence[float], k: int) -> list[int]:
    """Ids of the largest scores, ties by the lower id, NaN left out."""
    ids = [i for i in range(len(scores)) if not math.isnan(scores[i])]
    return sorted(ids, key=lambda i: (-scores[i], i))[: max(k, 0)]
