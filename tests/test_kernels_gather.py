"""gather_rows against its oracle."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from ytrag_core.kernels.gather import gather_rows


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[int], list[int], int]:
    lengths = draw(st.lists(st.integers(0, 9), min_size=1, max_size=8))
    indptr = [0]
    for length in lengths:
        indptr.append(indptr[-1] + length)
    nodes = draw(st.lists(st.integers(0, len(lengths) - 1), max_size=12))
    return indptr, nodes, draw(st.integers(-1, 10))


@settings(deadline=None)
@given(requests())
def test_entries_of_the_rows_asked_for(request_: tuple[list[int], list[int], int]) -> None:
    indptr, nodes, max_per_row = request_
    positions, owner = gather_rows(np.array(indptr, np.int64), np.array(nodes, np.int32), max_per_row)
    assert positions.dtype == np.int64
    assert owner.dtype == np.int32
    got = list(zip(positions.tolist(), owner.tolist(), strict=True))
    assert got == oracles.row_positions(indptr, nodes, max_per_row)


def test_a_cut_hub_keeps_evenly_spaced_entries() -> None:
    positions, _ = gather_rows(np.array([0, 70_000], np.int64), np.array([0], np.int32), 70)
    assert positions.tolist() == list(range(0, 70_000, 1000))


@pytest.mark.parametrize("bad", [-1, 1])
def test_rows_out_of_range_are_refused(bad: int) -> None:
    with pytest.raises(ValueError, match="outside"):
        gather_rows(np.array([0, 2], np.int64), np.array([bad], np.int32), 0)
