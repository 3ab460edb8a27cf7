"""Words and hashes of plain texts against the splitting of a text in Python."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ytrag_core.kernels.tokens import distinct_in_rows, hash_texts, span_hashes, split_texts
from ytrag_core.retrieval.lexicon import name_form, split_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

LETTERS = ["a", "S", "s", "'", "’", "`", "_", " ", "-", "海", "龙", "9", "Z", "é", "(", "ß", "か", "。"]
TEXTS = st.lists(st.text(st.sampled_from(LETTERS), max_size=12) | st.text(max_size=6), max_size=8)
_MASK = 2**64 - 1


@pytest.fixture(autouse=True)
def _hashes_wrap_around() -> Iterator[None]:
    """Interpreted kernels warn of what machine code does silently."""
    with np.errstate(over="ignore"):
        yield


def utf8(texts: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = [0, *map(len, encoded)]
    return np.frombuffer(b"".join(encoded), np.uint8), np.cumsum(lengths).astype(np.int64)


def hashed(text: str) -> int:
    """FNV-1a and the finaliser of MurmurHash3, from their definitions."""
    state = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        state = (state ^ byte) * 0x100000001B3 & _MASK
    state ^= state >> 33
    state = state * 0xFF51AFD7ED558CCD & _MASK
    state ^= state >> 33
    state = state * 0xC4CEB9FE1A85EC53 & _MASK
    return max(state ^ state >> 33, 1)


@given(TEXTS)
def test_hashes_are_those_of_the_definition(texts: list[str]) -> None:
    assert hash_texts(*utf8(texts)).tolist() == [hashed(text) for text in texts]


@given(TEXTS)
@example(
    ["Tom's海", "Tom's_x", "it's", "'s", "s", "x's-y", "海's 海", "o’Brien’s", "a'", "'a", "a''b", "S'S"]
)
@example(["", "!!!", "红楼梦 II", "AC/DC", ".22 caliber", "a`b"])
def test_plain_texts_are_split_as_python_splits_them(texts: list[str]) -> None:
    is_plain, form_hash, unit_indptr, unit_hash = split_texts(*utf8(texts))
    assert unit_indptr[-1] == unit_hash.shape[0]
    for i, text in enumerate(texts):
        units = unit_hash[unit_indptr[i] : unit_indptr[i + 1]].tolist()
        if not is_plain[i]:
            assert not text.isascii()
            assert units == []
            assert form_hash[i] == 0
            continue
        wanted = split_units(unicodedata.normalize("NFC", text))
        assert units == [hashed(unit.text) for unit in wanted]
        assert form_hash[i] == (hashed(name_form(wanted)) if wanted else 0)


def test_names_of_ascii_and_han_are_plain() -> None:
    is_plain = split_texts(*utf8(["Louis XIV", "曹雪芹", "O’Brien", "Zürich", "かな", "“Q”"]))[0]
    assert is_plain.tolist() == [True, True, True, False, False, False]


@given(st.lists(st.sampled_from(["new", "york", "海", "图", "é", "か"]), max_size=9), st.integers(1, 10))
def test_a_stretch_is_hashed_as_a_name_of_these_words(words: list[str], max_units: int) -> None:
    is_han = np.array([word in "海图か" for word in words], np.uint8)
    hashes = span_hashes(*utf8(words), is_han, max_units)
    assert hashes.shape == (len(words), max_units)
    for first in range(len(words)):
        for length in range(1, max_units + 1):
            stretch = words[first : first + length]
            form = name_form(split_units(" ".join(stretch)))
            wanted = hashed(form) if len(stretch) == length else 0
            assert hashes[first, length - 1] == wanted


@given(st.lists(st.lists(st.integers(0, 5), max_size=6), max_size=6))
def test_each_value_counts_once_a_row(rows: list[list[int]]) -> None:
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    values = np.array([value for row in rows for value in row], np.uint64)
    wanted = [value for row in rows for value in sorted(set(row))]
    assert distinct_in_rows(values, indptr).tolist() == wanted
