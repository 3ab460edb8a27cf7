"""top_k against its oracle; the best rows against all products, in bytes or not."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from ytrag_core.kernels.half_dot import half_dot
from ytrag_core.kernels.topk import BLOCK, best_byte_rows, best_rows, byte_rows, keep_largest, top_k


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


def rows_of(kind: str, n: int, d: int = 48) -> np.ndarray[tuple[int, int], np.dtype[np.float16]]:
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((n, d))
    if kind == "alike":
        rows = rows[:1] + 0.01 * rows
    elif kind == "repeated":
        rows = rows[rng.integers(0, 7, n)]
    elif kind == "one large value":
        rows[:, 3] = 60.0
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    if kind == "with zeros":
        rows[::3] = 0.0
    elif kind == "with no numbers":
        rows[::3, 5], rows[1::3, 6] = np.nan, np.inf
    return rows.astype(np.float16)


N_ROWS = 60 if numba.config.DISABLE_JIT else 3000  # type: ignore[attr-defined]
KINDS = ["random", "alike", "repeated", "one large value", "with zeros", "with no numbers"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [0, 1, 20, 700, 5000])
@pytest.mark.parametrize("length", [1.0, 0.0, 250.0])
def test_the_best_rows_are_those_of_all_products(kind: str, k: int, length: float) -> None:
    bits = rows_of(kind, N_ROWS).view(np.uint16)
    queries = (length * rows_of("random", 5)).astype(np.float32)
    with np.errstate(all="ignore"):  # without its compiler a kernel tells of what is no number
        found = best_rows(bits, queries, k), best_byte_rows(bits, *byte_rows(bits), queries, k)
        scores_of = [half_dot(bits, query) for query in queries]
    for i, scores in enumerate(scores_of):
        wanted = top_k(scores, k)
        for ids, best in found:
            assert ids.shape == best.shape == (5, min(k, N_ROWS))
            np.testing.assert_array_equal(ids[i, : len(wanted)], wanted)
            np.testing.assert_array_equal(best[i, : len(wanted)], scores[wanted])
            assert (ids[i, len(wanted) :] == -1).all()
            assert np.isnan(best[i, len(wanted) :]).all()


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_bytes_lose_no_more_than_they_say(kind: str) -> None:
    rows = rows_of(kind, min(N_ROWS, 200))
    codes, scale, lost = byte_rows(rows.view(np.uint16))
    assert codes.dtype == np.int8
    off = np.linalg.norm(rows.astype(np.float64) - scale[:, None].astype(np.float64) * codes, axis=1)
    np.testing.assert_allclose(lost, off, rtol=1e-3, atol=1e-6)
    assert (lost <= 0.05).all()


def test_rows_and_codes_must_fit() -> None:
    bits = rows_of("random", 10).view(np.uint16)
    codes, scale, lost = byte_rows(bits)
    queries = np.ones((2, 48), np.float32)
    with pytest.raises(ValueError, match="width"):
        best_rows(bits, queries[:, :5].copy(), 1)
    with pytest.raises(ValueError, match="width"):
        best_byte_rows(bits, codes[:, :5].copy(), scale, lost, queries, 1)
    with pytest.raises(ValueError, match="as many codes"):
        best_byte_rows(bits, codes, scale, lost[:5], queries, 1)
