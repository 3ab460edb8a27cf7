"""Hashes of strings, vectors that are known by them, and the blocks of those that are not."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from ytrag_core.embedding import reuse
from ytrag_core.embedding.reuse import (
    KnownVectors,
    UniqueTexts,
    encode_missing,
    text_hashes,
    token_limit,
)
from ytrag_core.errors import GraphFormatError, ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

TEXTS = ["Paris", "paris", "the Danube flows through Vienna", "", "中文", "born in", "a", "b", "c", "d"]

Pairs = list[tuple[int, int]]
PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)))


def as_hashes(pairs: Pairs) -> NDArray[np.uint64]:
    return np.array(pairs, np.uint64).reshape(-1, 2)


def test_hashes_are_blake2b_of_utf8() -> None:
    hashes = text_hashes(["", "中文", "\ud800"])
    assert hashes.shape == (3, 2)
    assert hashes.dtype == np.uint64
    wanted = hashlib.blake2b("中文".encode(), digest_size=16).digest()
    assert hashes[1].tolist() == [int.from_bytes(wanted[:8], "little"), int.from_bytes(wanted[8:], "little")]
    assert text_hashes([]).shape == (0, 2)


@settings(max_examples=100, deadline=None)
@given(st.lists(PAIRS, max_size=3), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4))))
def test_the_first_part_that_has_a_hash_gives_its_vector(parts: list[Pairs], asked: Pairs) -> None:
    wanted: dict[tuple[int, int], float] = {}
    arrays = []
    for number, pairs in enumerate(parts):
        values = [float(100 * number + row) for row in range(len(pairs))]
        for pair, value in zip(pairs, values, strict=True):
            wanted.setdefault(pair, value)
        arrays.append((as_hashes(pairs), np.array(values, np.float16).reshape(-1, 1)))
    known = KnownVectors.merge(arrays)
    assert known.hashes.tolist() == [list(pair) for pair in sorted(wanted)]
    found = known.lookup(as_hashes(asked))
    assert [row >= 0 for row in found.tolist()] == [pair in wanted for pair in asked]
    out = np.full((len(asked), 1), -1, np.float16)
    here = np.flatnonzero(found >= 0)
    known.copy_rows(found[here], out, here)
    assert out[:, 0].tolist() == [wanted.get(pair, -1.0) for pair in asked]


def test_ill_shaped_rows_are_refused() -> None:
    with pytest.raises(GraphFormatError, match="wanted \\(m, 2\\)"):
        KnownVectors.merge([(np.zeros((3, 2), np.uint64), np.zeros((2, 4), np.float16))])


def test_vectors_of_another_width_are_refused() -> None:
    known = KnownVectors.merge([(text_hashes(["a"]), np.zeros((1, 7), np.float16))])
    with pytest.raises(GraphFormatError, match="7 wide"):
        known.copy_rows(np.array([0]), np.zeros((1, 8), np.float16), np.array([0]))


def test_missing_strings_are_encoded_in_blocks_and_each_is_handed_over(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reuse, "_ROWS", 3)
    texts = UniqueTexts(TEXTS, token_limit(encoder))
    vectors = np.full((len(TEXTS), encoder.dimension), 9, np.float16)
    missing = np.array([0, 1, 2, 4, 6, 7, 8])
    saved: list[tuple[NDArray[np.uint64], NDArray[np.float16]]] = []
    calls: list[tuple[int, int]] = []
    encode_missing(
        encoder,
        texts,
        missing,
        vectors,
        save=lambda hashes, rows: saved.append((hashes, rows)),
        progress=lambda done, total: calls.append((done, total)),
    )
    np.testing.assert_allclose(vectors[missing], encoder.encode([TEXTS[i] for i in missing]), atol=1e-3)
    assert (vectors[[3, 5, 9]] == 9).all()
    assert [len(rows) for _, rows in saved] == [3, 3, 1]
    assert_array_equal(np.concatenate([hashes for hashes, _ in saved]), text_hashes(TEXTS)[missing])
    assert_array_equal(np.concatenate([rows for _, rows in saved]), vectors[missing])
    assert calls == sorted(calls)
    assert calls[-1] == (10, 10)


def test_blocks_depend_on_the_strings_alone(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left after some blocks is cut as it would have been."""
    monkeypatch.setattr(reuse, "_BLOCK_TOKENS", 40)
    strings = [" ".join(["river"] * (1 + n % 7)) + f" {n}" for n in range(60)]
    texts = UniqueTexts(strings, token_limit(encoder))

    def blocks(missing: NDArray[np.int64]) -> list[list[int]]:
        sizes: list[list[int]] = []
        out = np.empty((len(strings), encoder.dimension), np.float16)
        encode_missing(encoder, texts, missing, out, save=lambda hashes, _: sizes.append(hashes.tolist()))
        return sizes

    everything = np.arange(len(strings))
    whole = blocks(everything)
    done = len(whole[0]) + len(whole[1])
    assert 3 < len(whole) < len(strings)
    assert blocks(everything[done:]) == whole[2:]


def test_a_string_beyond_the_window_has_the_mean_of_its_windows(encoder: Encoder) -> None:
    long = " ".join(f"ship {n} sails down the Danube." for n in range(200))
    texts = UniqueTexts(["Paris", long], token_limit(encoder))
    assert texts.long == {1}
    assert texts.hashes[0].tolist() == text_hashes(["Paris"])[0].tolist()
    assert texts.hashes[1].tolist() != text_hashes([long])[0].tolist()
    vectors = np.empty((2, encoder.dimension), np.float16)
    encode_missing(encoder, texts, np.arange(2), vectors)
    np.testing.assert_allclose(np.linalg.norm(vectors.astype(np.float32), axis=1), 1.0, atol=2e-3)
    beginning = encoder.encode([long])[0]
    changed = UniqueTexts([long[:-6] + " Vienna and Budapest"], token_limit(encoder))
    other = np.empty((1, encoder.dimension), np.float16)
    encode_missing(encoder, changed, np.arange(1), other)
    assert 0.5 < float(beginning @ vectors[1].astype(np.float32)) < 0.9999
    assert float(other[0].astype(np.float32) @ vectors[1].astype(np.float32)) < 0.99999


def test_a_vector_that_is_not_finite_is_told_and_not_stored(
    encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def damaged(texts: list[str], **_: object) -> NDArray[np.float32]:
        vectors = np.ones((len(texts), encoder.dimension), np.float32)
        vectors[texts.index("zebra"), 3] = np.nan
        return vectors

    monkeypatch.setattr(encoder, "encode", damaged)
    saved: list[object] = []
    texts = UniqueTexts(["a", "zebra"], token_limit(encoder))
    vectors = np.zeros((2, encoder.dimension), np.float16)
    with pytest.raises(ModelError, match="not finite of the text 'zebra'"):
        encode_missing(encoder, texts, np.arange(2), vectors, save=lambda *block: saved.append(block))
    assert not saved
    assert not vectors.any()


def test_no_strings(encoder: Encoder) -> None:
    texts = UniqueTexts([], token_limit(encoder))
    encode_missing(encoder, texts, np.arange(0), np.empty((0, encoder.dimension), np.float16))
    assert (len(texts), texts.hashes.shape) == (0, (0, 2))
