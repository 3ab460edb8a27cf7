"""ppr_push and ppr_power against the solved equation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests import oracles
from ytrag_core.kernels.csr import walk_csr
from ytrag_core.kernels.ppr import ppr_power, ppr_push

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray


class Walk(NamedTuple):
    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    weights: NDArray[np.float32]
    strength: NDArray[np.float32]


class Case(NamedTuple):
    walk: Walk
    expected_graph: oracles.WalkGraph
    seeds: dict[int, float]


def build_walk(src: list[int], dst: list[int], weight: list[float], n_nodes: int) -> Walk:
    return Walk(
        *walk_csr(np.array(src, np.int32), np.array(dst, np.int32), np.array(weight, np.float32), n_nodes)
    )


def random_walk(n_nodes: int, n_edges: int, seed: int = 0) -> Walk:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, n_nodes, (2, n_edges)).astype(np.int32)
    return Walk(*walk_csr(ends[0], ends[1], rng.random(n_edges, dtype=np.float32) + np.float32(0.1), n_nodes))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_nodes = draw(st.integers(1, 9))
    node = st.integers(0, n_nodes - 1)
    weight = st.floats(0.125, 8, width=32)
    edges = draw(st.lists(st.tuples(node, node, weight), max_size=20))
    src = [edge[0] for edge in edges]
    dst = [edge[1] for edge in edges]
    values = [edge[2] for edge in edges]
    share = st.floats(0.0625, 1, width=32)
    seeds = draw(st.dictionaries(node, share, min_size=1, max_size=n_nodes))
    total = sum(seeds.values())
    seeds = {i: w / total for i, w in seeds.items()}
    return Case(
        build_walk(src, dst, values, n_nodes), oracles.undirected_weights(src, dst, values, n_nodes), seeds
    )


class Scratch:
    def __init__(self, n_nodes: int) -> None:
        self.mass = np.zeros((n_nodes, 2))
        self.queue = np.full(n_nodes + 1, -7, np.int32)
        self.touched = np.full(n_nodes + 1, -7, np.int32)


def push(
    walk: Walk,
    seeds: dict[int, float],
    damping: float,
    epsilon: float,
    max_pushes: int = 0,
    scratch: Scratch | None = None,
) -> NDArray[np.float64]:
    """Scores of all nodes after a push from `seeds`; checks the scratch arrays and the node list."""
    n_nodes = len(walk.strength)
    scratch = scratch or Scratch(n_nodes)
    nodes, scores = ppr_push(
        *walk,
        np.array(list(seeds), np.int32),
        np.array(list(seeds.values()), np.float32),
        damping,
        epsilon,
        max_pushes,
        scratch.mass,
        scratch.queue,
        scratch.touched,
    )
    assert nodes.dtype == np.int32
    assert scores.dtype == np.float32
    assert not scratch.mass.any()
    assert len(set(nodes.tolist())) == len(nodes)
    assert (scores > 0).all()
    dense = np.zeros(n_nodes)
    dense[nodes] = scores
    return dense


def dense_seeds(seeds: dict[int, float], n_nodes: int) -> NDArray[np.float32]:
    dense = np.zeros(n_nodes, np.float32)
    for node, weight in seeds.items():
        dense[node] = weight
    return dense


@settings(deadline=None)
@given(cases(), st.sampled_from([0.0, 0.15, 0.5, 0.85]))
def test_push_with_a_small_epsilon_solves_the_equation(case: Case, damping: float) -> None:
    expected = oracles.pagerank(
        case.expected_graph, dense_seeds(case.seeds, len(case.expected_graph)).tolist(), damping
    )
    assert_allclose(push(case.walk, case.seeds, damping, 1e-10), expected, atol=1e-6)


@settings(deadline=None)
@given(cases(), st.sampled_from([0.5, 0.85]), st.sampled_from([1e-1, 1e-2, 1e-3]))
def test_push_is_a_lower_bound_within_its_error(case: Case, damping: float, epsilon: float) -> None:
    n_nodes = len(case.expected_graph)
    expected = np.array(
        oracles.pagerank(case.expected_graph, dense_seeds(case.seeds, n_nodes).tolist(), damping)
    )
    got = push(case.walk, case.seeds, damping, epsilon)
    lengths = np.diff(case.walk.indptr)
    connected = lengths > 0
    ratio = (lengths[connected] / case.walk.strength[connected]).max(initial=0.0)
    assert (got <= expected + 1e-6).all()
    assert (got >= expected - epsilon * case.walk.strength * ratio - 1e-6).all()


@settings(deadline=None)
@given(cases(), st.integers(1, 6))
def test_push_stops_at_its_limit_and_stays_a_lower_bound(case: Case, max_pushes: int) -> None:
    n_nodes = len(case.expected_graph)
    expected = np.array(oracles.pagerank(case.expected_graph, dense_seeds(case.seeds, n_nodes).tolist(), 0.5))
    got = push(case.walk, case.seeds, 0.5, 1e-9, max_pushes)
    assert (got <= expected + 1e-6).all()
    assert got.sum() > 0


def test_push_leaves_far_nodes_alone_and_scratch_is_reusable() -> None:
    n_nodes = 500
    path = build_walk(list(range(n_nodes - 1)), list(range(1, n_nodes)), [1.0] * (n_nodes - 1), n_nodes)
    scratch = Scratch(n_nodes)
    first = push(path, {10: 1.0}, 0.5, 1e-4, scratch=scratch)
    assert np.flatnonzero(first).max() < 40
    push(path, {400: 1.0}, 0.5, 1e-4, scratch=scratch)
    assert_array_equal(first, push(path, {10: 1.0}, 0.5, 1e-4, scratch=scratch))


def test_push_adds_repeated_seeds_up_and_takes_zero_weights() -> None:
    walk = random_walk(20, 60)
    scratch = Scratch(20)
    nodes = np.array([3, 3, 5, 9], np.int32)
    weights = np.array([0.25, 0.25, 0.5, 0.0], np.float32)
    ids, scores = ppr_push(*walk, nodes, weights, 0.5, 1e-9, 0, scratch.mass, scratch.queue, scratch.touched)
    dense = np.zeros(20)
    dense[ids] = scores
    assert_allclose(dense, push(walk, {3: 0.5, 5: 0.5}, 0.5, 1e-9), atol=1e-7)


def test_a_hub_is_pushed_only_when_it_holds_enough_mass() -> None:
    n_leaves = 1_000 if numba.config.DISABLE_JIT else 70_000  # type: ignore[attr-defined]
    star = build_walk([0] * n_leaves, list(range(1, n_leaves + 1)), [1.0] * n_leaves, n_leaves + 1)
    scores = push(star, {1: 1.0}, 0.5, 1e-7 / n_leaves)
    assert scores[0] == pytest.approx(1 / 3, abs=1e-6)
    assert scores[1] == pytest.approx(0.5 + scores[2], abs=1e-6)
    assert scores[2:].max() == scores[2:].min() == pytest.approx(1 / 6 / n_leaves, rel=1e-3)
    assert np.count_nonzero(push(star, {1: 1.0}, 0.5, 0.7 / n_leaves)) == 2


def test_a_seed_without_edges_shares_with_the_other_seeds() -> None:
    walk = build_walk([0], [1], [1.0], 3)
    seeds = {0: 0.5, 2: 0.5}
    expected = oracles.pagerank([{1: 1.0}, {0: 1.0}, {}], [0.5, 0.0, 0.5], 0.5)
    assert_allclose(push(walk, seeds, 0.5, 1e-12), expected, atol=1e-7)
    assert_allclose(push(walk, {2: 1.0}, 0.5, 1e-12), [0, 0, 1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"damping": 1.0}, "damping"),
        ({"damping": np.nan}, "damping"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": np.nan}, "epsilon"),
        ({"seed_nodes": np.array([5], np.int32)}, "seed is outside"),
        ({"seed_nodes": np.array([-1], np.int32)}, "seed is outside"),
        ({"seed_nodes": np.array([0, 1], np.int32)}, "one length"),
        ({"seed_weights": np.array([np.nan], np.float32)}, "seed weight"),
        ({"seed_weights": np.array([-1], np.float32)}, "seed weight"),
        ({"mass": np.zeros((2, 2))}, "out_mass"),
        ({"queue": np.zeros(3, np.int32)}, "out_queue"),
        ({"touched": np.zeros(3, np.int32)}, "out_touched"),
    ],
)
def test_push_refuses_what_it_cannot_use(change: dict[str, Any], message: str) -> None:
    values: dict[str, Any] = {
        "seed_nodes": np.array([0], np.int32),
        "seed_weights": np.array([1], np.float32),
        "damping": 0.5,
        "epsilon": 1e-6,
        "max_pushes": 0,
        "mass": np.zeros((3, 2)),
        "queue": np.zeros(4, np.int32),
        "touched": np.zeros(4, np.int32),
    }
    with pytest.raises(ValueError, match=message):
        ppr_push(*build_walk([0], [1], [1.0], 3), *(values | change).values())


@settings(deadline=None)
@given(cases(), st.sampled_from([0.0, 0.5, 0.85]))
def test_power_solves_the_equation(case: Case, damping: float) -> None:
    seeds = dense_seeds(case.seeds, len(case.expected_graph))
    ranks = ppr_power(*case.walk, seeds, damping, 300, 0.0, False)
    assert ranks.dtype == np.float32
    assert_allclose(ranks, oracles.pagerank(case.expected_graph, seeds.tolist(), damping), atol=1e-6)


def test_power_is_bit_equal_for_any_number_of_threads_and_scale_of_seeds() -> None:
    walk = random_walk(1500, 4000)
    seeds = dense_seeds({1: 0.25, 700: 0.5, 1499: 0.25}, 1500)
    serial = ppr_power(*walk, seeds, 0.85, 20, 1e-9, False)
    before = numba.get_num_threads()
    try:
        for n_threads in range(1, before + 1):
            numba.set_num_threads(n_threads)
            assert_array_equal(serial, ppr_power(*walk, seeds, 0.85, 20, 1e-9, True))
    finally:
        numba.set_num_threads(before)
    assert_array_equal(serial, ppr_power(*walk, seeds * np.float32(8), 0.85, 20, 1e-9, False))
    assert serial.sum() == pytest.approx(1, abs=1e-5)


def test_power_and_push_agree() -> None:
    walk = random_walk(400, 900)
    seeds = {1: 0.25, 70: 0.75}
    ranks = ppr_power(*walk, dense_seeds(seeds, 400), 0.85, 300, 0.0, False)
    assert_allclose(push(walk, seeds, 0.85, 1e-9), ranks, atol=1e-6)


@settings(deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_power_follows_a_renaming_of_the_nodes(case: Case, random: Random) -> None:
    n_nodes = len(case.expected_graph)
    new = list(range(n_nodes))
    random.shuffle(new)
    src = [new[a] for a, row in enumerate(case.expected_graph) for b in row if a < b]
    dst = [new[b] for a, row in enumerate(case.expected_graph) for b in row if a < b]
    weight = [w for a, row in enumerate(case.expected_graph) for b, w in row.items() if a < b]
    renamed = build_walk(src, dst, weight, n_nodes)
    ranks = ppr_power(*case.walk, dense_seeds(case.seeds, n_nodes), 0.5, 100, 0.0, False)
    moved = ppr_power(
        *renamed, dense_seeds({new[i]: w for i, w in case.seeds.items()}, n_nodes), 0.5, 100, 0.0, False
    )
    assert_allclose(moved[new], ranks, atol=1e-6)


def test_power_stops_early_when_nothing_changes_any_more() -> None:
    walk = random_walk(300, 900)
    seeds = dense_seeds({5: 1.0}, 300)
    assert_array_equal(
        ppr_power(*walk, seeds, 0.85, 3, 0.0, False), ppr_power(*walk, seeds, 0.85, 3, 1e-30, False)
    )
    loose = ppr_power(*walk, seeds, 0.85, 1000, 1e-3, False)
    tight = ppr_power(*walk, seeds, 0.85, 1000, 0.0, False)
    assert 0 < np.abs(loose.astype(np.float64) - tight).sum() <= 1e-3 * 0.85 / 0.15 + 1e-6


@pytest.mark.parametrize(
    ("seeds", "damping", "n_iterations", "tolerance", "message"),
    [
        ([0, 0, 0], 0.5, 10, 0.0, "sum to zero"),
        ([1, 0], 0.5, 10, 0.0, "entries"),
        ([1, -1, 1], 0.5, 10, 0.0, "seed weight"),
        ([1, np.nan, 1], 0.5, 10, 0.0, "seed weight"),
        ([1, 0, 0], 1.0, 10, 0.0, "damping"),
        ([1, 0, 0], 0.5, 0, 0.0, "n_iterations"),
        ([1, 0, 0], 0.5, 10, np.nan, "tolerance"),
    ],
)
def test_power_refuses_what_it_cannot_use(
    seeds: list[float], damping: float, n_iterations: int, tolerance: float, message: str
) -> None:
    walk = build_walk([0], [1], [1.0], 3)
    with pytest.raises(ValueError, match=message):
        ppr_power(*walk, np.array(seeds, np.float32), damping, n_iterations, tolerance, False)
