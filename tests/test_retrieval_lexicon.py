"""Names found in a question: longest first, in any script, with all their bearers."""

from __future__ import annotations

import math
import unicodedata
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.retrieval.lexicon import LEXICON_SPEC, Lexicon, build_lexicon, name_form, split_units
from ytrag_core.storage.arrays import map_arrays, write_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMES = [
    (0, "York"),
    (1, "New York"),
    (2, "New York City Ballet"),
    (3, "O'Brien"),
    (4, "Springfield"),
    (5, "Springfield"),
    (6, "红楼梦"),
    (7, "曹雪芹"),
    (8, "Cooper's Stair"),
    (9, "AC/DC"),
    (10, "City"),
    (11, "!!!"),
    (2, "NYCB"),
    (12, "Louis XIV"),
    (13, "梦"),
    (14, "Straße"),
]


def lexicon(names: Sequence[tuple[int, str]], texts: Sequence[str] = ()) -> Lexicon:
    return Lexicon.from_arrays(build_lexicon(names, texts))


def found(question: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(match.surface, match.nodes) for match in lexicon(NAMES).match(question)]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who founded the New York City Ballet?", [("New York City Ballet", (2,))]),
        ("Is new york a CITY or is York?", [("new york", (1,)), ("CITY", (10,)), ("York", (0,))]),
        ("Yorkshire and Newark", []),
        ("What does NYCB dance?", [("NYCB", (2,))]),
        ("Which Springfield?", [("Springfield", (4, 5))]),
        ("Springfield's mayor", [("Springfield", (4, 5))]),
        ("Springfield’s mayor", [("Springfield", (4, 5))]),
        ("O’Brien's house", [("O’Brien", (3,))]),
        ("up Cooper's Stair", [("Cooper's Stair", (8,))]),
        ("up Cooper’s stair's steps", [("Cooper’s stair", (8,))]),
        ("ac-dc, or AC/DC", [("ac-dc", (9,)), ("AC/DC", (9,))]),
        ("《红楼梦》的作者曹雪芹生于哪里？", [("红楼梦", (6,)), ("曹雪芹", (7,))]),
        ("请问红楼梦谁写", [("红楼梦", (6,))]),
        ("做梦", [("梦", (13,))]),
        ("红楼 梦", [("红楼 梦", (6,))]),
        ("曹雪芹was in New York", [("曹雪芹", (7,)), ("New York", (1,))]),
        ("ＮＥＷ　ＹＯＲＫ", [("ＮＥＷ　ＹＯＲＫ", (1,))]),
        ("STRASSE", [("STRASSE", (14,))]),
        ("Louis XIVth", []),
        ("!!!", []),
        ("", []),
    ],
)
def test_names_in_a_question(question: str, names: list[tuple[str, tuple[int, ...]]]) -> None:
    assert found(question) == names


def test_matches_say_where_they_stand() -> None:
    question = "Did ‘New York’ read 《红楼梦》?"
    matches = lexicon(NAMES).match(question)
    assert [question[match.start : match.end] for match in matches] == ["New York", "红楼梦"]
    assert [match.units for match in matches] == [("new", "york"), tuple("红楼梦")]


def test_lookup_is_of_the_whole_name() -> None:
    table = lexicon(NAMES)
    assert table.lookup("new  york") == (1,)
    assert table.lookup("springfield") == (4, 5)
    assert table.lookup("Springfield City") == table.lookup("!!!") == table.lookup("") == ()


def test_the_table_is_sorted_and_survives_the_disk(tmp_path: Path) -> None:
    arrays = build_lexicon(NAMES, ["one text"])
    pairs = list(zip(arrays["form_key"].tolist(), arrays["form_node"].tolist(), strict=True))
    assert pairs == sorted(pairs)
    assert len(pairs) == len(NAMES) - 1
    assert arrays["unit_key"].tolist() == sorted(arrays["unit_key"].tolist())
    write_arrays(tmp_path / "lexicon.arrow", arrays)
    mapped = Lexicon.from_arrays(map_arrays(tmp_path / "lexicon.arrow", LEXICON_SPEC))
    question = "Springfield and 红楼梦, New York City Ballet"
    assert mapped.match(question) == lexicon(NAMES).match(question)


def test_an_empty_table_finds_nothing() -> None:
    table = lexicon([])
    assert table.match("New York") == []
    assert table.lookup("New York") == ()
    assert table.rarities([("new", "york"), ()]) == [0.0, 0.0]


def test_rarity_is_that_of_the_rarest_word() -> None:
    texts = ["the river Quell", "the river Sarn", "the the sea", "Quell’s river"]
    table = lexicon(NAMES, texts)
    assert table.n_texts == 4
    names = [("river",), ("quell",), ("the", "quell", "river"), ("river", "unheard"), ("unheard",), ("sarn",)]
    river, quell, all_three, with_unheard, unheard, sarn = table.rarities(names)
    assert river == pytest.approx(math.log(1 + 4 / (1 + 3)))
    assert quell == pytest.approx(math.log(1 + 4 / (1 + 2)))
    assert all_three == quell
    assert with_unheard == unheard > sarn


WORDS = st.sampled_from(["new", "york", "city", "海", "图", "old"])


def spaced(words: Sequence[str]) -> str:
    return " ".join(words)


@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), max_size=6), st.lists(WORDS, max_size=8))
def test_longest_names_win_then_the_first(names: list[list[str]], question: list[str]) -> None:
    table = lexicon([(node, spaced(name)) for node, name in enumerate(names)])
    taken: set[int] = set()
    wanted = []
    for length in (3, 2, 1):
        for start in range(len(question) - length + 1):
            nodes = tuple(node for node, name in enumerate(names) if name == question[start : start + length])
            places = set(range(start, start + length))
            if nodes and not places & taken:
                taken |= places
                wanted.append((start, tuple(question[start : start + length]), nodes))
    matches = table.match(spaced(question))
    assert [(match.units, match.nodes) for match in matches] == [item[1:] for item in sorted(wanted)]


LETTERS = st.sampled_from(["a", "B", "s", "'", "’", " ", "-", "海", "か", "é", "ß", "_", "2", "Ａ"])
STRINGS = st.lists(st.text(LETTERS, max_size=6), max_size=12)


@given(STRINGS, st.lists(STRINGS.map(" ".join), max_size=6), st.text(LETTERS, max_size=12))
def test_names_are_found_by_their_words_in_any_script(
    names: list[str], texts: list[str], question: str
) -> None:
    table = lexicon(list(enumerate(names)), texts)
    forms: dict[str, tuple[int, ...]] = {}
    for node, name in enumerate(names):
        form = name_form(split_units(unicodedata.normalize("NFC", name)))
        if form:
            forms[form] = (*forms.get(form, ()), node)
    for name in (*names, question):
        form = name_form(split_units(unicodedata.normalize("NFC", name)))
        assert table.lookup(name) == forms.get(form, ())
    for match in table.match(question):
        assert match.nodes == forms[name_form(split_units(question[match.start : match.end]))]
    holders = [{unit.text for unit in split_units(text)} for text in texts]
    for unit in {"a", "b", "s", "海", "é", "unheard", *(unit for words in holders for unit in words)}:
        count = sum(unit in words for words in holders)
        assert table.rarities([(unit,)]) == pytest.approx([math.log(1 + len(texts) / (1 + count))])


def test_long_names_are_found_whole() -> None:
    name = "National Award for " + "very " * 40 + "Good Acting"
    assert lexicon([(0, name), (1, "National Award")]).match(f"Who won the {name}?")[0].nodes == (0,)


def test_many_names_are_split_in_blocks() -> None:
    names = [(node, f"name {node % 40_000}") for node in range(150_000)]
    table = lexicon(names, ["a b"] * 70_000)
    assert table.lookup("Name 7") == (7, 40_007, 80_007, 120_007)
    assert (table.n_texts, table.max_units) == (70_000, 2)
