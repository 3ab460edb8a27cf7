"""Hashes of strings, and vectors reused from an earlier build."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.embedding import reuse
from ytrag_core.embedding.reuse import KnownVectors, encode_unique, text_hashes
from ytrag_core.errors import GraphFormatError

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder

TEXTS = ["Paris", "paris", "the Danube flows through Vienna", "", "中文", "born in", "a", "b", "c", "d"]


def test_hashes_are_blake2b_of_utf8() -> None:
    hashes = text_hashes(["", "中文", "\ud800"])
    assert hashes.shape == (3, 2)
    assert hashes.dtype == np.uint64
    wanted = hashlib.blake2b("中文".encode(), digest_size=16).digest()
    assert hashes[1].tolist() == [int.from_bytes(wanted[:8], "little"), int.from_bytes(wanted[8:], "little")]
    assert text_hashes([]).shape == (0, 2)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), unique=True),
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))),
)
def test_lookup_finds_each_hash_also_where_first_halves_agree(
    known: list[tuple[int, int]], asked: list[tuple[int, int]]
) -> None:
    hashes = np.array(known, np.uint64).reshape(-1, 2)
    rows = KnownVectors.from_rows(hashes, np.arange(len(known), dtype=np.float16)[:, None])
    found = rows.lookup(np.array(asked, np.uint64).reshape(-1, 2))
    for pair, row in zip(asked, found, strict=True):
        if pair in known:
            assert rows.vectors[row, 0] == known.index(pair)
        else:
            assert row == -1


def test_unsorted_or_ill_shaped_rows_are_refused() -> None:
    with pytest.raises(GraphFormatError, match="unsorted"):
        KnownVectors(np.array([[2, 0], [1, 0]], np.uint64), np.zeros((2, 4), np.float16))
    with pytest.raises(GraphFormatError, match="wanted \\(m, 2\\)"):
        KnownVectors(np.zeros((3, 2), np.uint64), np.zeros((2, 4), np.float16))


def test_known_strings_are_not_encoded_again(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_BLOCK", 3)
    first, n_encoded, n_reused = encode_unique(encoder, TEXTS)
    assert first.dtype == np.float16
    assert (n_encoded, n_reused) == (len(TEXTS), 0)
    np.testing.assert_allclose(first, encoder.encode(TEXTS), atol=1e-3)
    marked = first.copy()
    marked[4] = 0.5
    known = KnownVectors.from_rows(text_hashes(TEXTS), marked)
    calls: list[tuple[int, int]] = []
    texts = ["new one", *reversed(TEXTS), "new two"]
    second, n_encoded, n_reused = encode_unique(
        encoder, texts, known=known, progress=lambda done, total: calls.append((done, total))
    )
    assert (n_encoded, n_reused) == (2, len(TEXTS))
    np.testing.assert_array_equal(second[1:-1], marked[::-1])
    np.testing.assert_allclose(second[[0, -1]], encoder.encode(["new one", "new two"]), atol=1e-3)
    assert calls[0] == (10, 12)
    assert calls[-1] == (12, 12)


def test_no_strings(encoder: Encoder) -> None:
    known = KnownVectors.from_rows(text_hashes(["a"]), np.zeros((1, encoder.dimension), np.float16))
    vectors, n_encoded, n_reused = encode_unique(encoder, [], known=known)
    assert (vectors.shape, n_encoded, n_reused) == ((0, encoder.dimension), 0, 0)


def test_vectors_of_another_width_are_refused(encoder: Encoder) -> None:
    known = KnownVectors.from_rows(text_hashes(["a"]), np.zeros((1, 7), np.float16))
    with pytest.raises(GraphFormatError, match="7 wide"):
        encode_unique(encoder, ["a"], known=known)
