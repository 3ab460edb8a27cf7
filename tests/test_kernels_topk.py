"""top_k against its oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from ytrag_core.kernels.topk import BLOCK, keep_largest, top_k


@settings(deadline=None)
@given(
    st.lists(
        st.one_of(st.floats(width=32), st.sampled_from([0.0, -0.0, 1.0, -1.0, float("inf"), float("nan")])),
        max_size=80,
    ),
    st.integers(-1, 90),
)
def test_best_first_ties_by_lower_id(scores: list[float], k: int) -> None:
    ids = top_k(np.array(scores, np.float32), k)
    assert ids.dtype == np.int32
    assert ids.tolist() == oracles.best_ids(scores, k)


@pytest.mark.parametrize("k", [1, 7, 300, 2999])
@pytest.mark.parametrize(
    "order", ["random", "ascending", "descending", "few values", "all equal", "with nan"]
)
def test_many_blocks(order: str, k: int) -> None:
    rng = np.random.default_rng(3)
    scores = rng.standard_normal(12 * BLOCK + 5).astype(np.float32)
    if order == "ascending":
        scores.sort()
    elif order == "descending":
        scores = np.sort(scores)[::-1].copy()
    elif order == "few values":
        scores = np.round(scores)
    elif order == "all equal":
        scores[:] = -np.inf
    elif order == "with nan":
        scores[rng.random(scores.size) < 0.9] = np.nan
    assert top_k(scores, k).tolist() == oracles.best_ids(scores.tolist(), k)


def test_only_nan_gives_nothing() -> None:
    assert top_k(np.full(700, np.nan, np.float32), 5).size == 0


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=60, unique=True), st.data())
def test_keep_largest_brings_them_to_the_front(keys: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(keys)))
    array = np.array(keys, np.uint64)
    keep_largest(array, len(keys), k)
    expected = sorted(keys, reverse=True)
    assert sorted(array[:k].tolist(), reverse=True) == expected[:k]
    assert array[k - 1] == expected[k - 1]
    assert sorted(array.tolist(), reverse=True) == expected
