"""Many strings at once mean what they mean one by one: keys, display forms, literals and codes."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.documents.spaces import BREAKS, single_spaced
from ytrag_core.errors import GraphFormatError
from ytrag_core.graph import dictionary, keys, tables
from ytrag_core.graph.dictionary import DictionaryEncoder
from ytrag_core.graph.identities import IdentityRows
from ytrag_core.graph.keys import display_forms, entity_keys, relation_keys
from ytrag_core.graph.literals import is_literal, literal_mask
from ytrag_core.graph.normalise import EDGE, FOLD, PAIRS, display_form, entity_key, relation_key
from ytrag_core.graph.resolve import resolve_forms
from ytrag_core.graph.tables import string_column
from ytrag_core.graph.triples import _check_ids, _distinct_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1) if not 0xD800 <= code < 0xE000]
# Those that some rule may treat in its own way: letters and signs of the lowest plane, all digits and spaces.
TELLING = [c for c in EVERY_CHARACTER if ord(c) < 0x3400 or 0xF900 <= ord(c) < 0x10000 or c.isdecimal()]
SPECIAL = "".join(chr(code) for code in FOLD) + EDGE + BREAKS + "".join(PAIRS) + "".join(PAIRS.values())
TEXTS = st.text(
    st.one_of(
        st.sampled_from(SPECIAL),
        st.sampled_from("aBzÉßΣﬁ½Å\u0301\u0338\u3099がｶﾞ红楼梦٣Ⅷ_ "),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=8,
)


def large(texts: Sequence[str]) -> pa.LargeStringArray:
    return pa.array(texts, pa.large_string())


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "_BLOCK", 3)
    monkeypatch.setattr(dictionary, "_PENDING_ROWS", 4)


@pytest.mark.parametrize(
    ("of_all", "of_one"),
    [(entity_keys, entity_key), (relation_keys, relation_key), (display_forms, display_form)],
    ids=["entity", "relation", "display"],
)
class TestKeys:
    @given(texts=st.lists(TEXTS, max_size=10))
    def test_many_names_have_the_keys_of_each(
        self, of_all: Callable[[pa.Array], pa.Array], of_one: Callable[[str], str], texts: list[str]
    ) -> None:
        assert of_all(large(texts)).to_pylist() == [of_one(text) for text in texts]

    @pytest.mark.parametrize("form", ["{}", "a{}b", "{}a {}", "({})", " {}"])
    def test_every_character_does(
        self,
        monkeypatch: pytest.MonkeyPatch,
        of_all: Callable[[pa.Array], pa.Array],
        of_one: Callable[[str], str],
        form: str,
    ) -> None:
        monkeypatch.setattr(keys, "_BLOCK", 512)
        texts = [form.replace("{}", character) for character in TELLING]
        assert of_all(large(texts)).to_pylist() == [of_one(text) for text in texts]

    def test_a_slice_counts_from_its_start(
        self, of_all: Callable[[pa.Array], pa.Array], of_one: Callable[[str], str]
    ) -> None:
        texts = [f"  Name {i}. " for i in range(10)]
        assert of_all(large(texts).slice(4, 5)).to_pylist() == [of_one(text) for text in texts[4:9]]


def test_breaks_are_all_white_space_but_the_space() -> None:
    assert set(BREAKS) == {c for c in EVERY_CHARACTER if c.isspace()} - {" "}
    assert set(BREAKS) | {" "} == set(re.findall(r"\s", "".join(EVERY_CHARACTER)))


@given(TEXTS)
def test_single_spaced_text_has_nothing_to_collapse(text: str) -> None:
    assert single_spaced(text) == (re.sub(r"\s+", " ", text) == text)


@pytest.mark.parametrize(
    "form", ["{}", "1{}", "1{}2", "19{}0", "{}12", "5{}bc", "{}月", "3{}kg", "{} million"]
)
def test_every_character_is_as_literal_as_alone(form: str) -> None:
    texts = [form.replace("{}", character) for character in TELLING]
    assert literal_mask(large(texts)).tolist() == [is_literal(text) for text in texts]


WORDS = """0 1 12 31 1999 2001 , . - + : % $ ٣ ３ 一 二十 万 亿 年 月 日 世纪 公元前 约 元 万人 x
present percent million people km early mid late about circa c. jan january sept. may june st nd th s bc
ad ce century"""
SPACES = [" ", "  ", "\n", "\xa0", "\u3000", "\x1f", "\v", "early ", "about "]
PIECES = st.sampled_from([*WORDS.split(), *SPACES])


@given(st.lists(st.lists(PIECES, max_size=6).map("".join), max_size=20))
def test_many_keys_are_as_literal_as_each(texts: list[str]) -> None:
    assert literal_mask(large(texts)).tolist() == [is_literal(text) for text in texts]


ROWS = st.lists(st.one_of(st.none(), st.sampled_from(["", "a", "b", "c", "红", "a b", "\0", "long " * 9])))


@given(st.lists(st.tuples(st.integers(0, 2), ROWS), max_size=12))
def test_codes_are_positions_among_the_distinct_strings(batches: list[tuple[int, list[str | None]]]) -> None:
    encoder = DictionaryEncoder(3)
    wanted: list[list[str | None]] = [[], [], []]
    seen: dict[str, None] = {}
    for column, rows in batches:
        encoder.add(large(rows), column)  # type: ignore[arg-type]
        wanted[column] += rows
        seen.update(dict.fromkeys(row for row in rows if row is not None))
    encoded = encoder.finish()
    distinct = encoded.distinct.to_pylist()
    assert distinct == list(seen)
    for codes, rows in zip(encoded.codes, wanted, strict=True):
        assert codes.dtype == np.int32
        assert [distinct[code] if code >= 0 else None for code in codes.tolist()] == rows
    flat = [row for rows in wanted for row in rows]
    assert encoded.counts().tolist() == [flat.count(text) for text in distinct]


@given(st.dictionaries(TEXTS, st.integers(1, 3), max_size=12))
def test_forms_of_one_key_are_one_thing(seen: dict[str, int]) -> None:
    forms, counts = list(seen), np.array(list(seen.values()), np.int64)
    resolved = resolve_forms(large(forms), counts, entity_keys(large(forms)))
    groups: dict[str, list[str]] = {}
    for form in forms:
        if entity_key(form):
            groups.setdefault(entity_key(form), []).append(form)
    assert resolved.keys.to_pylist() == sorted(groups)
    best = [min(groups[key], key=lambda form: (-seen[form], form)) for key in sorted(groups)]
    assert resolved.names.to_pylist() == [display_form(form) for form in best]
    others = [
        sorted({display_form(form) for form in groups[key]} - {display_form(name)})
        for key, name in zip(sorted(groups), best, strict=True)
    ]
    assert resolved.aliases == {row: aliases for row, aliases in enumerate(others) if aliases}
    rows = [sorted(groups).index(entity_key(form)) if entity_key(form) else -1 for form in forms]
    assert resolved.key_of_form.tolist() == [*rows, -1]


LOW, HIGH = -(2**63), 2**63 - 1
NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from([LOW, LOW + 1, HIGH, HIGH - 1, 10**12]))


@given(st.lists(NUMBERS, min_size=1, unique=True), st.lists(st.one_of(st.none(), NUMBERS)))
@pytest.mark.parametrize("as_text", [(False, False), (True, True), (True, False), (False, True)])
def test_ids_are_found_and_others_are_not(
    as_text: tuple[bool, bool], ids: list[int], wanted: list[int | None]
) -> None:
    given_ids, asked = pa.array(sorted(ids), pa.int64()), pa.array(wanted, pa.int64())
    if as_text[0]:
        given_ids = given_ids.cast(pa.large_string())
    if as_text[1]:
        asked = asked.cast(pa.large_string())
    rows = IdentityRows(given_ids).rows(pa.chunked_array([asked.slice(0, 2), asked.slice(2)]))
    assert rows.dtype == np.int32
    assert rows.tolist() == [sorted(ids).index(i) if i in ids else -1 for i in wanted]


IDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 3)), max_size=20)


@given(IDS, st.sampled_from([(4, 3), (2**31 - 1, 3), (2**31 - 1, 2**20)]), st.booleans())
def test_triples_are_sorted_and_distinct_whatever_the_range_of_ids(
    rows: list[tuple[int, int, int]], limits: tuple[int, int], with_inverse: bool
) -> None:
    n_nodes, n_relations = limits
    # The same triples at the upper end of the range.
    moved = [(n_nodes - 4 + h, n_relations - 3 + r, n_nodes - 4 + t) for h, r, t in rows]
    head, relation, tail = (np.array([row[i] for row in moved], np.int32) for i in range(3))
    *columns, inverse = _distinct_triples(
        head, relation, tail, n_nodes, n_relations, with_inverse=with_inverse
    )
    wanted = sorted({(h, t, r) for h, r, t in moved})
    heads, relations, tails = columns
    assert list(zip(heads.tolist(), tails.tolist(), relations.tolist(), strict=True)) == wanted
    assert all(column.dtype == np.int32 for column in columns)
    if with_inverse:
        assert inverse is not None
        assert inverse.tolist() == [wanted.index((h, t, r)) for h, r, t in moved]


@given(st.lists(st.text(max_size=6)), st.integers(1, 20), st.integers(0, 3))
def test_a_column_of_strings_is_cut_where_offsets_would_overflow(
    texts: list[str], most_bytes: int, start: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "_COLUMN_BYTES", most_bytes)
        column = string_column(large(texts).slice(start))
    assert column.type == pa.string()
    assert column.to_pylist() == texts[start:]
    for chunk in column.chunks:
        assert len(chunk) == 1 or sum(len(text.encode()) for text in chunk.to_pylist()) <= most_bytes


def test_ids_out_of_range_are_refused() -> None:
    with pytest.raises(GraphFormatError, match=r"head ids run from -1 to 7; they must lie in 0\.\.4"):
        _check_ids("head", np.array([0, 7, -1], np.int32), 5)
