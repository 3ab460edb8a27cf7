"""Which edges of named nodes are looked at, and dot products with rows where they lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.kernels.edges import best_edges, row_dots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@pytest.fixture(autouse=True)
def _hashes_wrap_around() -> Iterator[None]:
    """Interpreted kernels warn of what machine code does silently."""
    with np.errstate(over="ignore"):
        yield


@given(st.lists(st.integers(0, 39), max_size=60), st.integers(0, 5))
def test_dots_are_those_of_the_rows(rows: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(40, 16)).astype(np.float16)
    query = rng.normal(size=16).astype(np.float32)
    got = row_dots(vectors.view(np.uint16), np.array(rows, np.int32), query)
    assert got.dtype == np.float32
    assert got.tolist() == pytest.approx((vectors.astype(np.float64) @ query)[rows].tolist(), abs=1e-4)
    for row in set(rows):
        assert len({score for score, at in zip(got.tolist(), rows, strict=True) if at == row}) == 1


@pytest.mark.parametrize(("rows", "width"), [([40], 16), ([-1], 16), ([0], 15)])
def test_rows_and_widths_out_of_range_are_refused(rows: list[int], width: int) -> None:
    with pytest.raises(ValueError, match=r"outside|width"):
        row_dots(np.zeros((40, 16), np.uint16), np.array(rows, np.int32), np.zeros(width, np.float32))


def spaced(entries: Sequence[int], n: int) -> list[int]:
    """Of `entries`, those with which the share of the taken ones steps up."""
    taken = []
    for position, entry in enumerate(entries):
        if -(-(position + 1) * n // len(entries)) > -(-position * n // len(entries)):
            taken.append(entry)
    return taken


def wanted_edges(
    rows: Sequence[Sequence[int]], nodes: Sequence[int], scores: Sequence[float], limit: int
) -> list[tuple[int, int]]:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).tolist()
    found = []
    for owner, node in enumerate(nodes):
        row = rows[node]
        positions = list(range(starts[node], starts[node] + len(row)))
        if len(row) > limit:
            kept, room = [], limit
            for relation in sorted(set(row), key=lambda relation: (-scores[relation], relation)):
                same = [at for at, found_ in zip(positions, row, strict=True) if found_ == relation]
                part = spaced(same, min(room, len(same)))
                kept += part
                room -= len(part)
            positions = sorted(kept)
        found += [(position, owner) for position in positions]
    return found


@given(
    st.lists(st.lists(st.integers(0, 3), max_size=12), min_size=1, max_size=5),
    st.data(),
    st.lists(st.sampled_from([0.0, 0.5, 0.75, -1.0]), min_size=4, max_size=4),
    st.integers(1, 12),
)
def test_a_long_row_keeps_its_best_relations(
    rows: list[list[int]], data: st.DataObject, scores: list[float], limit: int
) -> None:
    nodes = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
    relation = np.array([relation for row in rows for relation in row], np.int32)
    positions, owner = best_edges(
        indptr, relation, np.array(nodes, np.int32), np.array(scores, np.float32), limit
    )
    got = list(zip(positions.tolist(), owner.tolist(), strict=True))
    assert got == wanted_edges(rows, nodes, scores, limit)


@pytest.mark.parametrize(
    ("nodes", "relation", "limit"), [([1], 0, 1), ([-1], 0, 1), ([0], 5, 1), ([0], 0, 0)]
)
def test_what_is_out_of_range_is_refused(nodes: list[int], relation: int, limit: int) -> None:
    with pytest.raises(ValueError, match=r"outside|1 or more"):
        best_edges(
            np.array([0, 3], np.int64),
            np.full(3, relation, np.int32),
            np.array(nodes, np.int32),
            np.zeros(2, np.float32),
            limit,
        )
