"""Indices built one after the other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.pipeline.indices import build_indices

if TYPE_CHECKING:
    from numpy.typing import NDArray


def unit_rows(n: int, seed: int) -> NDArray[np.float16]:
    rows = np.random.default_rng(seed).standard_normal((n, 32))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float16)


def test_each_is_what_it_would_be_alone() -> None:
    rows = {"one": unit_rows(4000, 0), "two": unit_rows(5000, 1), "few": unit_rows(10, 2)}
    progress: list[tuple[int, ...]] = []
    found = build_indices(rows, lambda *seen: progress.append(seen), exact_below=100)
    assert list(found) == list(rows)
    assert found["few"].is_exact
    assert progress == sorted(progress)
    assert all(done <= total == 9010 for done, total in progress)
    queries = unit_rows(50, 3).astype(np.float32)
    for name in rows:
        ids, scores = VectorIndex.build(rows[name], exact_below=100).search(queries, 5, n_candidates=8)
        same_ids, same_scores = found[name].search(queries, 5, n_candidates=8)
        assert np.array_equal(ids, same_ids)
        assert np.array_equal(scores, same_scores)


def test_an_interrupt_stops_what_is_under_way() -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_indices({"one": unit_rows(20_000, 0)}, interrupt, exact_below=100)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("ytrag-worker")]


def test_nothing_to_build() -> None:
    assert build_indices({}, lambda done, total: None) == {}
