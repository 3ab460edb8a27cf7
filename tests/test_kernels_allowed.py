"""Masked products and masked CSR rows against plain lists."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.kernels.allowed import dot_allowed, gather_allowed
from ytrag_core.kernels.half_dot import half_dot
from ytrag_core.kernels.path_steps import path_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray


def rows_of(n: int, seed: int) -> NDArray[np.float16]:
    return np.random.default_rng(seed).normal(size=(n, 8)).astype(np.float16)


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 99))
def test_allowed_rows_have_their_product_and_others_none(allowed: list[bool], seed: int) -> None:
    rows = rows_of(len(allowed), seed)
    query = np.random.default_rng(seed + 1).normal(size=8).astype(np.float32)
    found = dot_allowed(rows.view(np.uint16), np.array(allowed, bool), query)
    plain = half_dot(rows.view(np.uint16), query)
    for score, is_allowed, wanted in zip(found, allowed, plain, strict=True):
        assert score == wanted if is_allowed else np.isnan(score)


@pytest.mark.parametrize(("n", "width"), [(2, 8), (3, 7)])
def test_products_of_other_shapes_are_refused(n: int, width: int) -> None:
    with pytest.raises(ValueError, match="differ"):
        dot_allowed(rows_of(3, 0).view(np.uint16), np.ones(n, bool), np.zeros(width, np.float32))


@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=6), st.data())
def test_allowed_entries_of_some_rows(rows: list[list[bool]], data: st.DataObject) -> None:
    nodes = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=8))
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    mask = np.array([allowed for row in rows for allowed in row], bool)
    positions, owner = gather_allowed(indptr, np.array(nodes, np.int32), mask)
    bounds = list(pairwise(indptr.tolist()))
    wanted = [(at, i) for i, node in enumerate(nodes) for at in range(*bounds[node]) if mask[at]]
    assert list(zip(positions.tolist(), owner.tolist(), strict=True)) == wanted


@pytest.mark.parametrize(("node", "n"), [(-1, 3), (2, 3), (0, 2)])
def test_rows_that_there_are_not_are_refused(node: int, n: int) -> None:
    with pytest.raises(ValueError, match=r"outside|cover"):
        gather_allowed(np.array([0, 1, 3]), np.array([node], np.int32), np.ones(n, bool))


ENTRY = st.tuples(st.integers(0, 4), st.integers(0, 2), st.booleans())


@given(
    st.lists(st.lists(ENTRY, max_size=9), min_size=5, max_size=5),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=4),
    st.integers(1, 4),
    st.integers(1, 9),
)
def test_masked_steps_are_those_of_a_graph_of_allowed_entries(
    rows: list[list[tuple[int, int, bool]]], paths: list[tuple[int, int]], row_limit: int, scan_limit: int
) -> None:
    every = [entry for row in rows for entry in row]
    allowed = np.array([entry[2] for entry in every], bool)
    if not len(every):
        return
    kept = [[entry for entry in row if entry[2]] for row in rows]

    def steps(of_rows: list[list[tuple[int, int, bool]]], mask: NDArray[np.bool_]) -> list[list[int]]:
        entries = [entry for row in of_rows for entry in row]
        columns = np.array([entry[:2] for entry in entries], np.int32).reshape(-1, 2)
        found = path_steps(
            np.cumsum([0, *map(len, of_rows)]).astype(np.int64),
            np.ascontiguousarray(columns[:, 0]),
            np.ascontiguousarray(columns[:, 1]),
            np.array(paths, np.int32),
            2,
            row_limit,
            scan_limit,
            rows_of(3, 1).view(np.uint16),
            np.arange(3, dtype=np.int32),
            np.ones(8, np.float32),
            np.zeros(3, np.float32),
            mask,
            np.zeros(3, np.float32),
            np.zeros(3, np.int32),
        )
        return [column.tolist() for column in found]

    if not allowed.any():
        assert steps(rows, allowed)[0] == []
        return
    positions, owner, fan_out = steps(rows, allowed)
    plain = steps(kept, np.empty(0, bool))
    assert positions == np.flatnonzero(allowed)[plain[0]].tolist()
    assert [owner, fan_out] == plain[1:]


def test_a_mask_of_another_length_than_the_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="cover"):
        path_steps(
            np.array([0, 1]),
            np.zeros(1, np.int32),
            np.zeros(1, np.int32),
            np.zeros((1, 1), np.int32),
            1,
            1,
            1,
            rows_of(1, 0).view(np.uint16),
            np.zeros(1, np.int32),
            np.ones(8, np.float32),
            np.zeros(1, np.float32),
            np.ones(2, bool),
            np.zeros(1, np.float32),
            np.zeros(1, np.int32),
        )
