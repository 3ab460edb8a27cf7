"""The mathematics of the tree in plain Python, written from the definitions and sharing no code with it."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

Triple = tuple[int, int, int]
Profile = Counter[tuple[int, str]]
Vector = list[float]


def entity_vector(
    entity: int, triples: Sequence[Triple], node: Sequence[Vector], relation: Sequence[Vector]
) -> Vector:
    own = [[*node[h], *relation[r], *node[t]] for h, r, t in triples if entity in (h, t)]
    if not own:
        return [*node[entity], *(0.0 for _ in node[entity]), *node[entity]]
    return [sum(column) / len(own) for column in zip(*own, strict=True)]


def profile(entities: Sequence[int], triples: Sequence[Triple]) -> Profile:
    found: Profile = Counter()
    for entity in entities:
        found.update((r, "out") for h, r, _ in triples if h == entity)
        found.update((r, "in") for _, r, t in triples if t == entity)
    return found


def weighted_jaccard(a: Profile, b: Profile) -> float:
    keys = set(a) | set(b)
    share_a = {key: a[key] / max(1, a.total()) for key in keys}
    share_b = {key: b[key] / max(1, b.total()) for key in keys}
    most = sum(max(share_a[key], share_b[key]) for key in keys)
    return sum(min(share_a[key], share_b[key]) for key in keys) / most if most else 0.0


def cosine(a: Vector, b: Vector) -> float:
    lengths = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / lengths if lengths else 0.0


def mean(vectors: Sequence[Vector]) -> Vector:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]


def phi(
    entity: int,
    community: Sequence[int],
    triples: Sequence[Triple],
    vectors: Sequence[Vector],
    weight: float,
) -> float:
    relations = weighted_jaccard(profile([entity], triples), profile(community, triples))
    meaning = cosine(vectors[entity], mean([vectors[member] for member in community]))
    return weight * relations + (1 - weight) * meaning


def greedy_pairs(
    similarity: Sequence[Sequence[float]], sizes: Sequence[int], threshold: float, limit: int
) -> set[tuple[int, int]]:
    pairs = sorted(
        (-similarity[a][b], a, b)
        for a, b in itertools.combinations(range(len(sizes)), 2)
        if similarity[a][b] >= threshold and sizes[a] + sizes[b] <= limit
    )
    taken: set[int] = set()
    chosen = set()
    for _, a, b in pairs:
        if a not in taken and b not in taken:
            taken |= {a, b}
            chosen.add((a, b))
    return chosen


def nearest(row: Vector, centres: Sequence[Vector]) -> int:
    distances = [sum((x - y) ** 2 for x, y in zip(row, centre, strict=True)) for centre in centres]
    return distances.index(min(distances))


def distances_to_nearest(row: Vector, centres: Sequence[Vector]) -> list[float]:
    return sorted(sum((x - y) ** 2 for x, y in zip(row, centre, strict=True)) for centre in centres)


def centre_of(
    community: Sequence[int], triples: Sequence[Triple], vectors: Sequence[Vector], weight: float
) -> int:
    return min(community, key=lambda i: (-phi(i, community, triples, vectors, weight), i))


def similarity(
    a: Sequence[int],
    b: Sequence[int],
    triples: Sequence[Triple],
    vectors: Sequence[Vector],
    weight: float,
) -> float:
    of_a = phi(centre_of(a, triples, vectors, weight), b, triples, vectors, weight)
    of_b = phi(centre_of(b, triples, vectors, weight), a, triples, vectors, weight)
    return (of_a + of_b) / 2


def merged(
    communities: Sequence[Sequence[int]],
    triples: Sequence[Triple],
    vectors: Sequence[Vector],
    weight: float,
    threshold: float,
    limit: int,
) -> set[tuple[int, ...]]:
    """Merge matched pairs round by round until a round finds none."""
    current = [sorted(community) for community in communities]
    while True:
        table = [[similarity(a, b, triples, vectors, weight) for b in current] for a in current]
        pairs = greedy_pairs(table, [len(c) for c in current], threshold, limit)
        if not pairs:
            return {tuple(community) for community in current}
        gone = {b for _, b in pairs}
        partner = dict(pairs)
        current = [
            sorted(community + (current[partner[a]] if a in partner else []))
            for a, community in enumerate(current)
            if a not in gone
        ]


Edge = tuple[int, int, float]


def modularity(n_nodes: int, edges: Sequence[Edge], labels: Sequence[int], resolution: float) -> float:
    """Newman's sum over all pairs of nodes; a loop counts at both its ends."""
    weight = [[0.0] * n_nodes for _ in range(n_nodes)]
    for one, other, w in edges:
        weight[one][other] += w
        weight[other][one] += w
    degree = [sum(row) for row in weight]
    total = sum(degree)
    if total == 0:
        return 0.0
    return sum(
        (weight[i][j] - resolution * degree[i] * degree[j] / total) / total
        for i in range(n_nodes)
        for j in range(n_nodes)
        if labels[i] == labels[j]
    )


def is_connected(members: Sequence[int], edges: Sequence[Edge]) -> bool:
    reached = {members[0]}
    while True:
        links = [(a, b) for a, b, w in edges if w > 0 and a in members and b in members]
        grown = reached | {x for a, b in links for x in (a, b) if a in reached or b in reached}
        if grown == reached:
            return reached == set(members)
        reached = grown
