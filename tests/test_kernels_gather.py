"""Rows side by side, and the scores of what lies behind rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import oracles
from ytrag_core.kernels.gather import gather_rows, scores_behind


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


@settings(deadline=None)
@given(requests(), st.booleans(), st.sampled_from([None, 0, 1]), st.integers(0, 2**32 - 1))
def test_what_lies_behind_scored_rows(
    request_: tuple[list[int], list[int], int], add: bool, refused: int | None, seed: int
) -> None:
    indptr, nodes, _ = request_
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 6, indptr[-1]).astype(np.int32)
    scores = rng.integers(-4, 9, len(nodes)).astype(np.float32)
    allowed = np.ones(0 if refused is None else 6, bool)
    allowed[slice(refused, None, 2) if refused is not None else slice(0)] = False
    wanted: dict[int, float] = {}
    for node, score in zip(nodes, scores.tolist(), strict=True):
        for column in columns[indptr[node] : indptr[node + 1]].tolist():
            if refused is None or allowed[column]:
                before = wanted.get(column, 0.0)
                wanted[column] = before + score if add else max(before, score)
    found, totals = scores_behind(
        np.array(indptr, np.int64), columns, np.array(nodes, np.int32), scores, allowed, add
    )
    assert dict(zip(found.tolist(), totals.tolist(), strict=True)) == wanted
    assert found.tolist() == sorted(wanted)


@pytest.mark.parametrize(
    ("row", "n_scores", "words"), [(-1, 1, "outside"), (1, 1, "outside"), (0, 2, "length")]
)
def test_rows_and_scores_must_fit(row: int, n_scores: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        scores_behind(
            np.array([0, 2], np.int64),
            np.zeros(2, np.int32),
            np.array([row], np.int32),
            np.ones(n_scores, np.float32),
            np.empty(0, bool),
            False,
        )
