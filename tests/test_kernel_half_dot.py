"""Dot products with float16 rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ytrag_core.kernels.half_dot import half_dot, half_dot_spread, half_pairs, half_to_float

if TYPE_CHECKING:
    from collections.abc import Callable

FINITE = st.floats(width=16, allow_nan=False, allow_infinity=False)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float16, st.tuples(st.integers(0, 5), st.integers(0, 20)), elements=FINITE))
def test_every_finite_half_becomes_the_same_float(
    rows: np.ndarray[tuple[int, int], np.dtype[np.float16]],
) -> None:
    wide = half_to_float(rows.view(np.uint16))
    assert wide.dtype == np.float32
    np.testing.assert_array_equal(wide, rows.astype(np.float32))
    np.testing.assert_array_equal(np.signbit(wide), np.signbit(rows))


def test_all_finite_halves() -> None:
    bits = np.arange(2**16, dtype=np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    np.testing.assert_array_equal(half_to_float(bits[None])[0], bits.view(np.float16).astype(np.float32))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 9), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_products_are_those_of_double_precision(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d)).astype(np.float16)
    query = rng.standard_normal(d).astype(np.float32)
    rows.flags.writeable = query.flags.writeable = False
    wanted = rows.astype(np.float64) @ query.astype(np.float64)
    np.testing.assert_allclose(half_dot(rows.view(np.uint16), query), wanted, rtol=1e-5, atol=1e-4)


def test_equal_rows_score_equal_wherever_they_stand() -> None:
    rng = np.random.default_rng(0)
    row = rng.standard_normal(384).astype(np.float16)
    query = rng.standard_normal(384).astype(np.float32)
    scores = half_dot(np.tile(row, (37, 1)).view(np.uint16), query)
    alone = half_dot(row[None].view(np.uint16), query)
    assert (scores == alone[0]).all()


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(0, 70), st.integers(0, 2**32 - 1))
def test_the_spread_of_all_products(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bits = (rng.standard_normal((n, d)) + 3).astype(np.float16).view(np.uint16)
    query = rng.standard_normal(d).astype(np.float32)
    scores = half_dot(bits, query).astype(np.float64)
    assert half_dot_spread(bits, query) == pytest.approx((scores.mean(), scores.std()), rel=1e-5, abs=1e-4)


def test_of_no_rows_there_is_no_spread() -> None:
    assert half_dot_spread(np.empty((0, 4), np.uint16), np.ones(4, np.float32)) == (0.0, 0.0)


@pytest.mark.parametrize("n", [0, 1, 2, 60])
def test_pairs_of_alike_rows_in_order(n: int) -> None:
    rng = np.random.default_rng(n)
    kinds = rng.standard_normal((4, 16))
    rows = kinds[rng.integers(0, 4, n)] + 0.01 * rng.standard_normal((n, 16))
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    cosines = rows.astype(np.float64) @ rows.astype(np.float64).T
    pairs = half_pairs(rows.view(np.uint16), 0.9)
    assert pairs.dtype == np.int32
    assert pairs.tolist() == np.argwhere(np.triu(cosines >= 0.9, 1)).tolist()


@pytest.mark.parametrize("product", [half_dot, half_dot_spread])
def test_widths_must_agree(product: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="differ in width"):
        product(np.zeros((2, 3), np.uint16), np.zeros(4, np.float32))
