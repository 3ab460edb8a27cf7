"""Small graphs with communities planted in them, as arguments of `build_tree`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tests.oracles_tree import Triple


@dataclass(frozen=True, slots=True, eq=False)
class Planted:
    """A graph for `build_tree`, and the group each entity was planted in, (n_entities,) int."""

    arguments: dict[str, Any]
    groups: NDArray[np.int64]

    @property
    def triples(self) -> list[Triple]:
        columns = (self.arguments[name].tolist() for name in ("head", "relation", "tail"))
        return list(zip(*columns, strict=True))


def planted_graph(
    n_entities: int, n_groups: int, *, dimension: int = 12, noise: float = 0.1, seed: int = 0
) -> Planted:
    """Plant groups of entities with near names, own relations, inner triples and one attribute each."""
    rng = np.random.default_rng(seed)
    groups = np.sort(rng.integers(0, n_groups, n_entities))
    n_relations = 2 * n_groups
    n_nodes = n_entities + n_groups
    places = rng.standard_normal((n_groups, dimension)) * 3
    names = np.concatenate([places[groups], places]) + noise * rng.standard_normal((n_nodes, dimension))
    strings = np.concatenate([rng.standard_normal((n_relations, dimension)), names])
    strings /= np.linalg.norm(strings, axis=1, keepdims=True)
    head = rng.integers(0, n_entities, 2 * n_entities)
    tail = np.empty_like(head)
    for position, entity in enumerate(head):
        tail[position] = rng.choice(np.flatnonzero(groups == groups[entity]))
    tail[::5] = n_entities + groups[head[::5]]
    relation = 2 * groups[head] + rng.integers(0, 2, len(head))
    return Planted(
        {
            "n_entities": n_entities,
            "head": head.astype(np.int32),
            "relation": relation.astype(np.int32),
            "tail": tail.astype(np.int32),
            "n_nodes": n_nodes,
            "n_relations": n_relations,
            "node_string": np.arange(n_relations, n_relations + n_nodes, dtype=np.int32),
            "relation_string": np.arange(n_relations, dtype=np.int32),
            "string_vectors": strings.astype(np.float16),
            "entity_names": [f"entity {i}" for i in range(n_entities)],
            "relation_names": [f"relation {i}" for i in range(n_relations)],
        },
        groups,
    )


def lookalikes(n_entities: int, dimension: int = 12) -> Planted:
    """Make a hub, entity 0, and leaves of one name and one relation: nothing tells them apart."""
    rng = np.random.default_rng(0)
    strings = rng.standard_normal((3, dimension)).astype(np.float16)
    node_string = np.ones(n_entities, np.int32)
    node_string[0] = 0
    return Planted(
        {
            "n_entities": n_entities,
            "head": np.arange(1, n_entities, dtype=np.int32),
            "relation": np.zeros(n_entities - 1, np.int32),
            "tail": np.zeros(n_entities - 1, np.int32),
            "n_nodes": n_entities,
            "n_relations": 1,
            "node_string": node_string,
            "relation_string": np.array([2], np.int32),
            "string_vectors": strings,
            "entity_names": ["hub"] + ["leaf"] * (n_entities - 1),
            "relation_names": ["part of"],
        },
        np.minimum(np.arange(n_entities), 1),
    )
