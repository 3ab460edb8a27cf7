"""The kernels of the words of paths against plain Python: each place of the question is covered once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.path_parts import bits
from ytrag_core.kernels.path_words import covered_by


@st.composite
def asked_places(draw: st.DrawFn) -> list[list[int]]:
    """For each of some words its places in a question of at most 64."""
    counts = draw(st.lists(st.integers(1, 4), max_size=8))
    starts = np.cumsum([0, *counts]).tolist()
    return [list(range(start, start + count)) for start, count in zip(starts, counts, strict=False)]


@given(asked_places(), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1))
def test_covered_by(places: list[list[int]], words: int, covered: int) -> None:
    weights = np.linspace(0.5, 2.0, len(places)).astype(np.float32)
    now, gained = covered_by(
        np.uint64(words), np.uint64(covered), np.array([bits(one) for one in places], np.uint64), weights
    )
    taken, value = {place for place in range(64) if covered >> place & 1}, 0.0
    for word, own in enumerate(places):
        free = [place for place in own if place not in taken]
        if words >> word & 1 and free:
            taken.add(free[0])
            value += float(weights[word])
    assert int(now) == bits(taken)
    assert gained == pytest.approx(value, abs=1e-5)


def test_the_last_of_64_places_is_covered() -> None:
    place = np.array([1 << 63], np.uint64)
    now, gained = covered_by(np.uint64(1), np.uint64(0), place, np.ones(1, np.float32))
    assert (int(now), float(gained)) == (1 << 63, 1.0)
