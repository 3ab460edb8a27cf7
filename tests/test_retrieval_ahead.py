"""Blocks of questions, prepared one ahead."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.retrieval import ahead
from ytrag_core.retrieval.ahead import blocks_of, prepared_ahead

if TYPE_CHECKING:
    from collections.abc import Iterator


@given(st.lists(st.integers(), max_size=200), st.integers(1, 9), st.integers(9, 40))
def test_blocks_grow_and_lose_nothing(items: list[int], size: int, longest: int) -> None:
    blocks = list(blocks_of(items, size, longest))
    assert [item for block in blocks for item in block] == items
    lengths = [len(block) for block in blocks]
    assert max(lengths, default=0) <= longest
    assert lengths[:-1] == sorted(lengths[:-1])
    assert lengths[:1] == [min(size, len(items))][: len(blocks)]


def test_the_next_block_is_prepared_while_one_is_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "available_cores", lambda: 4)
    started = {number: threading.Event() for number in range(3)}
    cores: list[int] = []
    taken: list[int] = []

    def blocks() -> Iterator[int]:
        for number in range(3):
            taken.append(number)
            yield number

    def prepare(number: int, n_cores: int) -> None:
        cores.append(n_cores)
        started[number].set()

    for number in prepared_ahead(blocks(), prepare):
        assert taken == list(range(min(number + 2, 3)))
        if number < 2:
            assert started[number + 1].wait(30)
    assert cores == [4, 2, 2]
    assert list(prepared_ahead(iter([]), prepare)) == []


def test_what_goes_wrong_ahead_comes_out_in_turn() -> None:
    def prepare(number: int, _: int) -> None:
        if number == 1:
            raise ValueError("block 1")

    found = prepared_ahead(iter([0, 1, 2]), prepare)
    assert next(found) == 0
    with pytest.raises(ValueError, match="block 1"):
        next(found)
