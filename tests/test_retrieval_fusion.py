"""Fusion by hand: what each route adds, in its own unit, weighted and summed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.config import RetrievalSettings
from ytrag_core.retrieval.fusion import RouteChunks, best_chunks, fuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

SETTINGS = RetrievalSettings(coverage_weight=50.0, path_weight=2.0)


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def ints(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


FOUND = {
    "ppr": RouteChunks(ints(7, 3), floats(0.4, 0.1)),
    "dense": RouteChunks(ints(3, 9), floats(0.8, 0.6)),
    "bm25": RouteChunks(ints(9), floats(0.2)),
    "path": RouteChunks(ints(3), floats(0.7)),
    "entity": RouteChunks(ints(9, 7), floats(0.5, 0.25)),
}
CANDIDATES = ints(3, 7, 9)
RESCORED = {"ppr": floats(0.1, 0.4, 0.0), "dense": floats(1.5, -0.5, 1.0), "bm25": floats(0.0, 0.0, 0.2)}


def test_the_sum_by_hand() -> None:
    ranked = fuse(FOUND, RESCORED, CANDIDATES, 3, SETTINGS, {"path": 0.5})
    wanted = {
        3: math.log(0.25) + 1.5 + 0.5 * 2.0,
        7: math.log(1.0) - 0.5 + 0.1 * 0.5,
        9: math.log(1e-6) + 1.0 + 50.0 * 0.2 * 0.2 + 0.1 * 1.0,
    }
    assert ranked.rows.tolist() == [3, 7, 9]
    assert ranked.scores.tolist() == pytest.approx([wanted[3], wanted[7], wanted[9]])
    assert ranked.routes == [
        {"ppr": 2, "dense": 1, "path": 1},
        {"ppr": 1, "entity": 2},
        {"dense": 2, "bm25": 1, "entity": 1},
    ]


def test_a_route_that_is_not_trusted_does_not_turn_the_order() -> None:
    ranked = fuse(FOUND, RESCORED, CANDIDATES, 3, SETTINGS, {"path": 0.0, "dense": 0.0})
    assert ranked.rows.tolist() == [7, 3, 9]


def test_weights_turn_the_order() -> None:
    settings = RetrievalSettings(coverage_weight=500.0)
    assert fuse(FOUND, RESCORED, CANDIDATES, 3, settings, {}).rows.tolist()[0] == 9


def test_a_route_without_other_scores_counts_what_it_found() -> None:
    ranked = fuse({"path": RouteChunks(ints(9, 3), floats(2.0, 1.0))}, {}, CANDIDATES, 3, SETTINGS, {})
    assert ranked.rows.tolist() == [9, 3, 7]
    assert ranked.scores.tolist() == [2.0, 1.0, 0.0]


def test_k_cuts_and_ties_go_to_the_lower_row() -> None:
    found = {"bm25": RouteChunks(ints(3, 7, 9), floats(1.0, 1.0, 1.0))}
    assert fuse(found, {}, CANDIDATES, 2, SETTINGS, {}).rows.tolist() == [3, 7]
    assert fuse(found, {}, CANDIDATES, 9, SETTINGS, {}).rows.tolist() == [3, 7, 9]


def test_nothing_found() -> None:
    ranked = fuse({"bm25": RouteChunks(ints(), floats())}, {}, ints(), 5, SETTINGS, {})
    assert (ranked.rows.tolist(), ranked.scores.tolist(), ranked.routes) == ([], [], [])


def test_best_chunks_are_positive_and_sorted() -> None:
    best = best_chunks(ints(8, 2, 5, 1, 9), floats(0.5, 0.5, 0.0, -1.0, 0.7), 10)
    assert best.rows.tolist() == [9, 2, 8]
    assert best.scores.tolist() == pytest.approx([0.7, 0.5, 0.5])
    assert best_chunks(ints(8, 2), floats(0.5, 0.6), 1).rows.tolist() == [2]
    assert best_chunks(ints(), floats(), 3).rows.tolist() == []
