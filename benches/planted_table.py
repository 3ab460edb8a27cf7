"""Which start finds planted communities best: ``python benches/planted_table.py`` prints the table.

Structure alone and vectors alone stand beside the two starts of the tree, the rounds after them, the leaves.
"""

from __future__ import annotations

import argparse
import os
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import igraph
import numpy as np
from planted import Recipe, plant, score

from ytrag_core.config import TreeSettings
from ytrag_core.kernels.phi import phi_edges
from ytrag_core.tree.dual import dual_graph, part_graph, relation_pairs
from ytrag_core.tree.features import gather_features
from ytrag_core.tree.hierarchy import grow
from ytrag_core.tree.kmeans import cluster_entities, lloyd, seed_rows, sum_clusters
from ytrag_core.tree.rounds import describe, merge_rounds
from ytrag_core.tree.workers import open_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from planted import PlantedGraph

    from ytrag_core.tree.features import EntityFeatures
    from ytrag_core.tree.workers import Workers

LIKENESS = {"strong": 0.12, "middle": 0.07, "weak": 0.045}
INSIDE = (0.7, 0.4)


class Contest:
    """The systems, each a function from nothing to labels, on one planted graph."""

    def __init__(
        self, planted: PlantedGraph, workers: Workers, weights: list[float], taus: list[float]
    ) -> None:
        self.planted = planted
        self.workers = workers
        self.weights, self.taus = weights, taus
        self.features: EntityFeatures
        self.features, self.vectors = gather_features(planted.triples, workers, lambda done: None)
        self.everyone = np.arange(planted.triples.n_entities, dtype=np.int32)

    def systems(self) -> Iterator[tuple[str, Callable[[], NDArray[np.int32]]]]:
        yield "igraph Leiden, structure only", lambda: self.structure(None)
        yield "k-means on the 3d vectors, right k given", lambda: self.kmeans(self.vectors)
        yield "k-means on names smoothed over neighbours, right k given", lambda: self.kmeans(self.smoothed())
        yield "igraph Leiden, relations weighted by cosine", lambda: self.structure(0.0)
        yield from self.starts(TreeSettings(init="kmeans"), "init kmeans")
        for weight in self.weights:
            yield from self.starts(TreeSettings(init="dual", weight=weight), f"init dual, lambda {weight}")

    def starts(
        self, settings: TreeSettings, name: str
    ) -> Iterator[tuple[str, Callable[[], NDArray[np.int32]]]]:
        made: dict[str, Any] = {"graph": None}

        def first() -> NDArray[np.int32]:
            if settings.init == "dual":
                made["graph"] = dual_graph(self.planted.triples, self.features, settings, None, self.workers)
                made["labels"] = part_graph(made["graph"], self.everyone, settings)
            else:
                found = cluster_entities(self.features.bits, self.everyone, settings, self.workers)
                made["labels"] = found[0]
            return np.asarray(made["labels"], np.int32)

        yield f"{name}: start", first
        for tau in self.taus:
            yield f"{name}: rounds at tau {tau}", partial(self.rounds, made, settings, tau)
        for tau in self.taus:
            yield f"{name}: leaves at tau {tau}", partial(self.leaves, made, settings, tau)

    def rounds(self, made: dict[str, Any], settings: TreeSettings, tau: float) -> NDArray[np.int32]:
        labels = np.asarray(made["labels"], np.int32)
        k = int(labels.max()) + 1
        sums = sum_clusters(self.features.bits, self.everyone, labels, k, self.workers)
        start = describe(self.features, self.everyone, labels, sums, settings.weight, self.workers)
        chosen = settings.model_copy(update={"merge_threshold": tau})
        return merge_rounds(self.features, start, chosen, self.workers).labels

    def leaves(self, made: dict[str, Any], settings: TreeSettings, tau: float) -> NDArray[np.int32]:
        chosen = settings.model_copy(update={"merge_threshold": tau})
        labels = np.full(len(self.everyone), -1, np.int32)
        for number, community in enumerate(
            grow(self.features, made["graph"], chosen, self.workers, lambda done: None)
        ):
            if community.is_leaf:
                labels[community.members] = number
        return labels

    def structure(self, weight: float | None) -> NDArray[np.int32]:
        pairs = np.unique(np.sort(relation_pairs(self.planted.triples), axis=1), axis=0)
        first, second = np.ascontiguousarray(pairs.T.astype(np.int32))
        profiles = self.features.profiles
        phi = None
        if weight is not None:
            phi = phi_edges(
                self.features.bits,
                profiles.indptr,
                profiles.codes,
                profiles.frequencies,
                first,
                second,
                weight,
            ).astype(float)
        graph = igraph.Graph(n=len(self.everyone), edges=pairs)
        found = graph.community_leiden(objective_function="modularity", weights=phi, n_iterations=2)
        return np.array(found.membership, np.int32)

    def smoothed(self) -> NDArray[np.float32]:
        """Mean of the names of an entity and of its neighbours."""
        triples = self.planted.triples
        names = triples.string_vectors[triples.node_string].astype(np.float32)
        sums, count = names.copy(), np.ones(len(names), np.float32)
        for one, other in ((triples.head, triples.tail), (triples.tail, triples.head)):
            np.add.at(sums, one, names[other])
            np.add.at(count, one, 1)
        return sums / count[:, None]

    def kmeans(self, vectors: NDArray[Any]) -> NDArray[np.int32]:
        rows = vectors.astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        k = int(self.planted.groups.max()) + 1
        seeds = seed_rows(rows, k, np.random.default_rng(0))
        return lloyd(rows, rows[seeds], 10, self.workers)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--weights", type=float, nargs="*", default=[0.0, 0.25, 0.5, 0.75])
    parser.add_argument("--taus", type=float, nargs="*", default=[0.3, 0.5, 0.7])
    options = parser.parse_args()
    cells: dict[str, list[str]] = {}
    with open_workers() as workers:
        for likeness in LIKENESS.values():
            for inside in INSIDE:
                recipe = replace(
                    Recipe(),
                    n_entities=options.entities,
                    n_groups=options.groups,
                    likeness=likeness,
                    inside=inside,
                )
                planted = plant(recipe)
                for name, run in Contest(planted, workers, options.weights, options.taus).systems():
                    started = time.perf_counter()
                    found = score(planted.groups, run())
                    seconds = time.perf_counter() - started
                    cells.setdefault(name, []).append(
                        f"{found.nmi:.2f} {found.ari:.2f} {found.count} "
                        f"{100 * found.coverage:.0f}% {seconds:.1f}s"
                    )
    columns = [f"{name} {inside}" for name in LIKENESS for inside in INSIDE]
    print(f"NMI, ARI, communities, coverage, time; {options.entities} entities, {options.groups} groups")
    print("| | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name, row in cells.items():
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
