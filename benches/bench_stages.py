"""The stages of a build, from strings with their vectors to indices and tree: how they grow."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from planted import Recipe, plant

from ytrag_core.config import TreeSettings
from ytrag_core.embedding.index import VectorIndex
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.retrieval.lexicon import build_lexicon
from ytrag_core.tree.build import build_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from planted import PlantedGraph
    from pytest_benchmark.fixture import BenchmarkFixture

DIMENSION = 96
ENTITIES_PER_GROUP = 50
SPECTRUM = 0.8
SYLLABLES = (
    "ka",
    "lo",
    "mir",
    "ten",
    "su",
    "vor",
    "ael",
    "din",
    "ro",
    "qui",
    "zen",
    "bar",
    "osk",
    "ul",
    "fe",
)


@lru_cache(maxsize=1)
def planted(n_nodes: int) -> PlantedGraph:
    groups = max(2, n_nodes // ENTITIES_PER_GROUP)
    return plant(
        Recipe(
            n_entities=n_nodes,
            n_groups=groups,
            edges_per_entity=3.0,
            likeness=0.3,
            dimension=DIMENSION,
            spectrum=SPECTRUM,
        )
    )


@lru_cache(maxsize=1)
def names(n_nodes: int) -> list[str]:
    """Two or three words of two to four syllables each."""
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(SYLLABLES), (n_nodes, 3, 4))
    lengths = rng.integers(2, 5, (n_nodes, 3))
    n_words = rng.integers(2, 4, n_nodes)
    return [
        " ".join(
            "".join(SYLLABLES[pick] for pick in word[:length]).title()
            for word, length in zip(words[:count], sizes[:count], strict=True)
        )
        for words, sizes, count in zip(picks.tolist(), lengths.tolist(), n_words.tolist(), strict=True)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indices")


def index_on_disk(n_nodes: int, folder: Path) -> VectorIndex:
    path = folder / str(n_nodes)
    vectors = planted(n_nodes).triples.string_vectors
    if not path.exists():
        VectorIndex.build(vectors, exact_below=1).save(path, "strings")
    return VectorIndex.load(path, "strings", vectors, exact_below=1)


def once(benchmark: BenchmarkFixture, operation: str, n_nodes: int, run: Callable[[], object]) -> None:
    benchmark.group = f"{operation} | {n_nodes:,} nodes"
    benchmark.extra_info.update(operation=operation, size=n_nodes, unit="nodes", peer="ytrag")
    untyped: Any = benchmark
    untyped.pedantic(run, rounds=1, warmup_rounds=0)


def test_vector_index(benchmark: BenchmarkFixture, n_nodes: int, folder: Path) -> None:
    planted(n_nodes)
    once(benchmark, f"stage: vector index, d = {DIMENSION}", n_nodes, lambda: index_on_disk(n_nodes, folder))


def test_tree(benchmark: BenchmarkFixture, n_nodes: int, folder: Path) -> None:
    graph, index = planted(n_nodes).triples, index_on_disk(n_nodes, folder)

    def run() -> None:
        tree, _ = build_tree(
            n_entities=n_nodes,
            head=graph.head,
            relation=graph.relation,
            tail=graph.tail,
            n_nodes=n_nodes,
            n_relations=graph.n_relations,
            node_string=graph.node_string,
            relation_string=graph.relation_string,
            string_vectors=graph.string_vectors,
            entity_names=names(n_nodes),
            relation_names=[f"relation {i}" for i in range(graph.n_relations)],
            settings=TreeSettings(),
            string_index=index,
        )
        assert (tree.leaf >= 0).all()

    names(n_nodes)
    once(benchmark, f"stage: tree, d = 3 x {DIMENSION}", n_nodes, run)


def test_text_index(benchmark: BenchmarkFixture, n_nodes: int) -> None:
    forms = names(n_nodes)
    once(benchmark, "stage: text index", n_nodes, lambda: build_lexicon(enumerate(forms), forms))


def test_walk_graph(benchmark: BenchmarkFixture, n_nodes: int) -> None:
    graph = planted(n_nodes).triples
    weights = np.ones(len(graph.head), np.float32)
    once(benchmark, "stage: walk graph", n_nodes, lambda: walk_csr(graph.head, graph.tail, weights, n_nodes))
