"""Which names may be one by how they are written: precision before recall."""

from __future__ import annotations

import pytest

from ytrag_core.graph.forms import name_form, name_words
from ytrag_core.graph.kinds import coarse_kind, kinds_conflict
from ytrag_core.graph.variants import find_variant


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("U.S. Congress", "US Congress", "spelling"),
        ("São Paulo", "Sao Paulo", "spelling"),
        ("Jean-Luc Picard", "Jean Luc Picard", "spelling"),
        ("St. Louis", "Saint Louis", "spelling"),
        ("Intl. Court of Justice", "International Court of Justice", "spelling"),
        ("巴拉克·奥巴马", "巴拉克奥巴马", "spelling"),
        ("South East Asia", "Southeast Asia", "joined"),
        ("The Grand Ole Opry", "Grand Ole Opry", "article"),
        ("Dr. John Seward", "John Seward", "title"),
        ("Queen Elizabeth II", "Elizabeth II", "title"),
        ("曹雪芹", "曹雪芹先生", "title"),
        ("欧阳修", "欧阳修先生", "title"),
        ("Rittman Salt Company", "Rittman Salt", "company"),
        ("华为", "华为公司", "company"),
        ("北京", "北京市", "area"),
        ("浙江省", "浙江", "area"),
        ("steam locomotive", "steam locomotives", "plural"),
        ("Lovelace, Ada", "Ada Lovelace", "order"),
        ("Barack Obama", "Barack H. Obama", "middle"),
        ("Kevin Durant", "Kevin Wayne Durant", "middle"),
        ("Paul J. Sorg", "Paul John Sorg", "middle"),
        ("Steven Spielberg", "Steven Speilberg", "typo"),
        ("NATO", "North Atlantic Treaty Organization", "acronym"),
    ],
)
def test_variants_of_one_name(first: str, second: str, kind: str) -> None:
    for one, other in ((first, second), (second, first)):
        variant = find_variant(name_form(one), name_form(other))
        assert variant is not None
        assert variant.kind == kind
        assert 0 < variant.base < 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("World War I", "World War II"),
        ("Henry V", "Henry VI"),
        ("Boeing 747", "Boeing 737"),
        ("2010 census", "2011 census"),
        ("1 23", "12 3"),
        ("North Korea", "South Korea"),
        ("West Virginia", "Virginia"),
        ("Mike Conley Sr.", "Mike Conley Jr."),
        ("Mike Conley", "Mike Conley Jr."),
        ("George W. Bush", "George H. W. Bush"),
        ("Kim Jong-il", "Kim Jong-un"),
        ("Kim Jong", "Kim Kyu-jong"),
        ("Australia", "Austria"),
        ("Russia", "Russian"),
        ("Georgia Tech", "Georgian Tech"),
        ("Dr. John Seward", "Mrs. John Seward"),
        ("Heron Inc.", "Heron Ltd."),
        ("General Motors", "Motors"),
        ("Lakers", "Laker"),
        ("charge of the Light Brigade", "The Charge of the Light Brigade"),
        ("吉林省", "吉林市"),
        ("东京", "北京"),
        ("东湖公园", "西湖公园"),
        ("曹雪芹先生", "曹雪芹夫人"),
        ("美国总统", "美国"),
        ("城市", "城"),
        ("贾宝玉", "甄宝玉"),
        ("$", "+"),
    ],
)
def test_other_things(first: str, second: str) -> None:
    assert find_variant(name_form(first), name_form(second)) is None
    assert find_variant(name_form(second), name_form(first)) is None


def test_a_single_word_is_a_weaker_hint() -> None:
    company = find_variant(name_form("Apple Inc."), name_form("Apple"))
    article = find_variant(name_form("The Who"), name_form("Who"))
    assert company is not None
    assert article is not None
    assert max(company.base, article.base) < 0.7


def test_words_of_names() -> None:
    assert name_words("o'neill & co. ltd") == ("oneill", "co", "ltd")
    assert name_words("st. john's, nl") == ("saint", "johns", "nl")
    assert name_words("łódź") == ("lodz",)


def test_kinds() -> None:
    assert coarse_kind("Creative_Work") == coarse_kind("电影") == "work"
    assert coarse_kind("natural feature") == "place"
    assert coarse_kind("award") == ""
    assert kinds_conflict("person", "place")
    assert not kinds_conflict("place", "body")
    assert not kinds_conflict("", "person")
