"""Which surface forms are one thing, and which of them are values rather than names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.graph.literals import is_literal
from ytrag_core.graph.normalise import entity_key, relation_key, relation_text

SAME = [
    [
        "New York City",
        "  new   york\tcity ",
        "NEW YORK\nCITY",
        "Ｎｅｗ　Ｙｏｒｋ　Ｃｉｔｙ",
        "New York City.",
    ],
    [
        "Hamlet",
        "“Hamlet”",
        "'Hamlet'",
        "«Hamlet»",
        "‘Hamlet’",
        '"Hamlet,"',
        "(Hamlet)",
        "[Hamlet]",
        "HAMLET!",
    ],
    ["红楼梦", "《红楼梦》", "“红楼梦”", "「红楼梦」", "『红楼梦』", "（红楼梦）", "【红楼梦】", "红楼梦。"],
    ["O'Brien", "O’Brien", "o`brien", "OʼBrien"],
    ["Jean-Luc", "Jean–Luc", "jean—luc", "Jean‑Luc"],
    ["Straße", "STRASSE"],
    ["Café", "Cafe\u0301"],
    ["ﬁn", "fin"],
    ["Ada", "\ufeffAda", "A\u200bda"],
    ["U.S.", "U.S"],
]
APART = [
    ("C", "C++"),
    ("C", "C#"),
    ("!!!", "?"),
    ("f(x)", "f"),
    ("(500) Days of Summer", "500 Days of Summer"),
    ("Café", "Cafe"),
    ("Amber Gannet", "Ambergannet"),
    ("@home", "home"),
]


@pytest.mark.parametrize("forms", SAME, ids=lambda forms: str(forms[0]))
def test_forms_of_one_name_share_a_key(forms: list[str]) -> None:
    assert {entity_key(form) for form in forms} == {entity_key(forms[0])}
    assert entity_key(forms[0])


@pytest.mark.parametrize(("first", "second"), APART)
def test_different_names_keep_apart(first: str, second: str) -> None:
    assert entity_key(first) != entity_key(second)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("!!!", "!!!"),
        ("C++", "c++"),
        ("Yahoo!", "yahoo"),
        ("(a) and (b)", "(a) and (b)"),
        ("“”", "“”"),
        ("《钟声语法》", "钟声语法"),
        ("", ""),
        (" \t\n", ""),
        ("\u200b", ""),
    ],
)
def test_keys_by_hand(name: str, key: str) -> None:
    assert entity_key(name) == key


WORDS = st.lists(st.text("abcxyzäéß0123456789红楼梦", min_size=1, max_size=6), min_size=1, max_size=4)
DRESS = st.sampled_from(
    [
        ("“", "”"),
        ('"', '"'),
        ("'", "'"),
        ("(", ")"),
        ("《", "》"),
        ("「", "」"),
        ("", "."),
        (" ", "\t"),
        ("[", "]"),
    ]
)


@given(WORDS, st.lists(DRESS, max_size=4, unique=True), st.sampled_from([" ", "  ", "\n", "\u3000"]))
def test_dress_does_not_matter(words: list[str], dress: list[tuple[str, str]], space: str) -> None:
    dressed = space.join(words).upper()
    for before, after in dress:
        dressed = f"{before}{dressed}{after}"
    assert entity_key(dressed) == entity_key(" ".join(words)) != ""


@given(st.text(max_size=12))
def test_any_text_has_a_key_that_is_empty_for_nothing_visible_only(text: str) -> None:
    visible = [c for c in text if not c.isspace() and c not in "\0\u200b\ufeff"]
    assert bool(entity_key(text)) == bool(visible)


def test_relations_are_keyed_by_their_words() -> None:
    assert relation_key("born_in") == relation_key("Born  in") == "born in"
    assert relation_key("出生于") == "出生于"
    assert relation_key("located in") != relation_key("located")


@pytest.mark.parametrize("relation", ["_", "__", " _ ", "-", "..."])
def test_a_relation_of_punctuation_is_still_a_relation(relation: str) -> None:
    assert relation_key(relation)


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        ("/people/person/place_of_birth", "people person place of birth"),
        ("location/location/contains", "location contains"),
        ("placeOfBirth", "place Of Birth"),
        ("born in", "born in"),
        ("出生于", "出生于"),
        ("_", "_"),
        ("..", ".."),
    ],
)
def test_relations_as_words(relation: str, words: str) -> None:
    assert relation_text(relation) == words


LITERALS = [
    *(
        "1963",
        "1960s",
        "c. 1500",
        "around 1900",
        "1914-1918",
        "1999–present",
        "300 BC",
        "2001-09-11",
        "2001-09",
    ),
    *("12 May 1963", "May 12, 1963", "May 1963", "Sept. 11, 2001", "July", "19th century", "2nd century BC"),
    *("42", "-7", "3.14", "1,000", "1 000 000", "50%", "$3 million", "€20", "3.5 billion", "３００"),
    *("3 km", "214 kilometres", "100 years", "186,000 inhabitants", "12 kg"),
    *(
        "1949年",
        "1949年10月1日",
        "1949年10月",
        "一九四九年",
        "公元前221年",
        "二十世纪",
        "十月",
        "三月五日",
        "300公里",
    ),
    *("14.2万", "35％", "120米"),
]
NAMES = [
    *(
        "Apollo 11",
        "U2",
        "7up",
        "2Pac",
        "1984 (novel)",
        "1963 (film)",
        "FIFA World Cup 2006",
        "R2-D2",
        "Area 51",
    ),
    *(
        "April O'Neil",
        "May Day",
        "March hare",
        "August Strindberg",
        "June Carter",
        "Route 66",
        "Se7en",
        "Catch-22",
    ),
    *(
        "三国",
        "五月天",
        "二十四史",
        "十月围城",
        "百度",
        "九寨沟",
        "一",
        "万里",
        "C++",
        "!!!",
        "kilometres",
        "percent",
    ),
]


@pytest.mark.parametrize("value", LITERALS)
def test_dates_numbers_and_quantities_are_literals(value: str) -> None:
    assert is_literal(entity_key(value))


@pytest.mark.parametrize("name", NAMES)
def test_names_are_not_literals(name: str) -> None:
    assert not is_literal(entity_key(name))
