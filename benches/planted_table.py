"""Which start finds planted communities best: ``python benches/planted_table.py`` prints the table.

Structure alone and vectors alone stand beside the two starts of the tree, the rounds after them, the leaves.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import igraph
import numpy as np
import scipy.sparse
from planted import Recipe, plant, score

from ytrag_core.config import TreeSettings
from ytrag_core.embedding.index import VectorIndex
from ytrag_core.kernels.phi import phi_edges
from ytrag_core.tree.dual import dual_graph, part_graph, relation_pairs
from ytrag_core.tree.features import gather_features
from ytrag_core.tree.hierarchy import grow
from ytrag_core.tree.kmeans import cluster_entities, lloyd, seed_rows, sum_clusters
from ytrag_core.tree.rounds import describe, merge_rounds
from ytrag_core.workers import open_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from planted import PlantedGraph

    from ytrag_core.tree.features import EntityFeatures
    from ytrag_core.workers import Workers

LIKENESS = {"strong": 0.18, "middle": 0.09, "weak": 0.06}
INSIDE = (0.7, 0.4)
MOST_FOR_KMEANS = 100_000
"""The right k for more entities takes hours."""
INDEX_FROM = 50_000
"""From here on the index over names is given, as retrieval has it, and its time is told apart."""


class Contest:
    """The systems, each a function from nothing to labels, on one planted graph."""

    def __init__(
        self,
        planted: PlantedGraph,
        workers: Workers,
        weights: list[float],
        taus: list[float],
        jaccard: Literal["relation", "neighbour"] = "relation",
        folder: Path | None = None,
    ) -> None:
        self.planted = planted
        self.workers = workers
        self.weights, self.taus = weights, taus
        self.jaccard: Literal["relation", "neighbour"] = jaccard
        self.features: EntityFeatures
        self.features, self.vectors = gather_features(planted.triples, workers, lambda done: None, jaccard)
        self.everyone = np.arange(planted.triples.n_entities, dtype=np.int32)
        self.index = None if folder is None else saved_index(planted.triples.string_vectors, folder)

    def systems(self) -> Iterator[tuple[str, Callable[[], NDArray[np.int32]]]]:
        yield "igraph Leiden, structure only", lambda: self.structure(None)
        if len(self.everyone) <= MOST_FOR_KMEANS:
            yield "k-means on the 3d vectors, right k given", lambda: self.kmeans(self.vectors)
            yield (
                "k-means on names smoothed over neighbours, right k given",
                lambda: self.kmeans(self.smoothed()),
            )
        yield "igraph Leiden, relations weighted by cosine", lambda: self.structure(0.0)
        yield from self.starts(TreeSettings(init="kmeans"), "init kmeans")
        for weight in self.weights:
            settings = TreeSettings(init="dual", weight=weight, jaccard=self.jaccard)
            yield from self.starts(settings, f"init dual, lambda {weight}")

    def starts(
        self, settings: TreeSettings, name: str
    ) -> Iterator[tuple[str, Callable[[], NDArray[np.int32]]]]:
        made: dict[str, Any] = {"graph": None}

        def first() -> NDArray[np.int32]:
            if settings.init == "dual":
                made["graph"] = dual_graph(
                    self.planted.triples, self.features, settings, self.index, self.workers
                )
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
        """An entity's name plus the mean of its neighbours' names."""
        triples = self.planted.triples
        n = triples.n_entities
        names = triples.string_vectors[triples.node_string].astype(np.float32)
        ends = np.concatenate([triples.head, triples.tail]), np.concatenate([triples.tail, triples.head])
        links = scipy.sparse.coo_array((np.ones(len(ends[0]), np.float32), ends), shape=(n, n)).tocsr()
        degree = np.maximum(links.sum(axis=1), np.float32(1))
        return np.asarray(names + (links @ names) / degree[:, None], np.float32)

    def kmeans(self, vectors: NDArray[Any]) -> NDArray[np.int32]:
        rows = vectors.astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        k = int(self.planted.groups.max()) + 1
        seeds = seed_rows(rows, k, np.random.default_rng(0))
        return lloyd(rows, rows[seeds], 10, self.workers)[0]


def saved_index(vectors: NDArray[np.float16], folder: Path) -> VectorIndex:
    """Build the index over names, save it and open it."""
    started = time.perf_counter()
    VectorIndex.build(vectors).save(folder, "strings")
    print(f"index over {len(vectors)} names: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    return VectorIndex.load(folder, "strings", vectors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=20_000)
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--weights", type=float, nargs="*", default=[0.0, 0.25, 0.5, 0.75])
    parser.add_argument("--edges", type=float, default=Recipe().edges_per_entity, help="an entity")
    parser.add_argument("--jaccard", choices=("relation", "neighbour"), default="relation")
    parser.add_argument("--likeness", choices=LIKENESS, nargs="*", default=list(LIKENESS))
    parser.add_argument("--inside", type=float, nargs="*", default=list(INSIDE))
    parser.add_argument("--taus", type=float, nargs="*", default=[0.3, 0.5, 0.7])
    options = parser.parse_args()
    cells: dict[str, list[str]] = {}
    with open_workers() as workers, tempfile.TemporaryDirectory() as folder:
        for name in options.likeness:
            for inside in options.inside:
                recipe = Recipe(
                    n_entities=options.entities,
                    n_groups=options.groups,
                    edges_per_entity=options.edges,
                    likeness=LIKENESS[name],
                    inside=inside,
                )
                planted = plant(recipe)
                given = Path(folder) if options.entities >= INDEX_FROM else None
                contest = Contest(planted, workers, options.weights, options.taus, options.jaccard, given)
                for system, run in contest.systems():
                    started = time.perf_counter()
                    found = score(planted.groups, run())
                    seconds = time.perf_counter() - started
                    cell = (
                        f"{found.nmi:.2f} {found.ari:.2f} {found.count} "
                        f"{100 * found.coverage:.0f}% {seconds:.1f}s"
                    )
                    print(f"{name} {inside}: {system}: {cell}", file=sys.stderr, flush=True)
                    cells.setdefault(system, []).append(cell)
    columns = [f"{name} {inside}" for name in options.likeness for inside in options.inside]
    print(f"NMI, ARI, communities, coverage, time; {options.entities} entities, {options.groups} groups")
    print("| | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name, row in cells.items():
        print(f"| {name} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
