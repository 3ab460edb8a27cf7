"""Distinct values, against numpy's own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.retrieval.distinct import distinct, distinct_places, first_places


@given(st.lists(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 9), max_size=50))
def test_as_numpy_finds_them(values: list[int]) -> None:
    array = np.array(values, np.int32)
    wanted, wanted_places = np.unique(array, return_inverse=True)
    found, places = distinct_places(array)
    assert found.dtype == distinct(array).dtype == np.int32
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(places, wanted_places)
    np.testing.assert_array_equal(distinct(array), wanted)
    _, first = np.unique(array, return_index=True)
    np.testing.assert_array_equal(first_places(array), np.sort(first))
    assert array.tolist() == values
