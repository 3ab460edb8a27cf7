"""What a question says in words of relations, against the definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.graph.normalise import relation_text
from ytrag_core.retrieval.lexical import LexicalIndex, lexical_tokens
from ytrag_core.retrieval.mentions import Mention
from ytrag_core.retrieval.relation_words import AskedWords, RelationWords, relation_texts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

NAMES = [
    "born_in",
    "place of birth",
    "/people/person/place_of_birth",
    "/film/film/genre",
    "/award/award_category/winners",
    "hypernym",
    "出生地",
    "毕业院校",
    "鸟类学 出生地",
    "the of",
]


def words_of(names: Sequence[str]) -> RelationWords:
    return RelationWords(LexicalIndex.build(relation_texts(names)), names)


def spoken(surface: str) -> Mention:
    return Mention(surface, (0,), 1.0, ((0, len(surface)),))


def known_tokens(relations: list[set[str]], text: str) -> list[str]:
    """Words of relations that stand in a text; Chinese ones inside others, too."""
    known = set().union(*relations)
    chinese = [word for word in sorted(known) if not word.isascii()]
    return [word for word in lexical_tokens(text) if word in known and word.isascii()] + [
        word for word in chinese for _ in range(text.count(word))
    ]


def strange_tokens(relations: list[set[str]], text: str) -> list[str]:
    known = set().union(*relations)
    return [word for word in lexical_tokens(text) if word not in known and word.isascii()]


def plain_agreement(names: Sequence[str], text: str) -> list[float]:
    """F1 of the words of each relation and those of a question, by their rarity among relations."""
    relations = [set(lexical_tokens(relation_text(name))) for name in names]
    index = LexicalIndex.build(relation_texts(names))
    known = known_tokens(relations, text)
    asked = sum(map(index.rarity, known)) + sum(map(index.rarity, strange_tokens(relations, text))) / 2
    agreement = []
    for own in relations:
        said = sum(map(index.rarity, sorted(own)))
        shared = sum(map(index.rarity, sorted(own & set(known))))
        agreement.append(2 * shared / (asked + said) if shared else 0.0)
    return agreement


QUESTIONS = [
    "Which place of birth does the winners of the award have?",
    "Where was the director born?",
    "people person place birth",
    "她的出生地在哪里？",
    "出生地和毕业院校",
    "birth, birth and birth",
    "nothing said of it",
    "",
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_agreement_is_the_f1_of_words(question: str) -> None:
    asked = words_of(NAMES).asked(question)
    assert asked.agreement.dtype == np.float32
    np.testing.assert_allclose(asked.agreement, plain_agreement(NAMES, question), rtol=1e-4, atol=1e-6)
    assert 0.0 <= asked.agreement.min() <= asked.agreement.max() <= 1.0 + 1e-6


@pytest.mark.parametrize("question", QUESTIONS)
def test_masks_say_which_words_a_relation_has_and_places_where_they_stand(question: str) -> None:
    asked = words_of(NAMES).asked(question)
    relations = [set(lexical_tokens(relation_text(name))) for name in NAMES]
    tokens = known_tokens(relations, question)
    known = list(dict.fromkeys(tokens))
    assert len(known) == len(asked.places)
    for mask, own in zip(asked.relation_words.tolist(), relations, strict=True):
        assert mask.bit_count() == len(own & set(known))
    counts = [place.bit_count() for place in asked.places.tolist()]
    assert sorted(counts) == sorted(map(tokens.count, known))
    if question.isascii():
        assert counts == [tokens.count(word) for word in known]
    assert sum(asked.places.tolist()) == (1 << sum(map(tokens.count, known))) - 1
    strange = sum(map(LexicalIndex.build(relation_texts(NAMES)).rarity, strange_tokens(relations, question)))
    assert asked.asked == pytest.approx(float(np.dot(asked.weight, counts)) + strange / 2, rel=1e-5)


def test_a_word_asked_twice_has_two_places() -> None:
    asked = words_of(NAMES).asked("the birth after the birth in that place")
    assert [place.bit_count() for place in asked.places.tolist()] == [2, 1]
    assert asked.places.tolist() == [0b011, 0b100]


def check_is_within_64(asked: AskedWords) -> None:
    assert len(asked.weight) == len(asked.places) <= 64
    assert sum(asked.places.tolist()) == 2**64 - 1
    assert np.bitwise_and.reduce(asked.places) == 0


def test_words_beyond_64_are_left_out() -> None:
    names = [f"word{number}" for number in range(80)]
    words = words_of(names)
    asked = words.asked(" ".join(names))
    check_is_within_64(asked)
    assert [bool(mask) for mask in asked.relation_words.tolist()] == [True] * 64 + [False] * 16
    assert asked.agreement[64:].tolist() == [0.0] * 16
    often = words.asked("word1 " * 40 + "word2 " * 40 + "word3")
    check_is_within_64(often)
    assert [place.bit_count() for place in often.places.tolist()] == [40, 24]


@pytest.mark.parametrize("names", [[], ["the"], ["", "of"]])
def test_relations_without_words(names: list[str]) -> None:
    words = words_of(names)
    asked = words.asked("Where was he born?")
    assert asked.agreement.tolist() == asked.relation_words.tolist() == [0] * len(names)
    assert asked.places.shape == asked.weight.shape == (0,)
    assert not words.names_a_relation(spoken("the"))


@pytest.mark.parametrize(
    ("surface", "is_one"),
    [
        ("hypernym", True),
        ("Hypernym", True),
        ("genre", True),
        ("Born in", True),
        ("place of birth", True),
        ("出生地", True),
        ("birth", False),
        ("film", False),
        ("出生", False),
        ("the", False),
        ("Ashby", False),
        ("", False),
    ],
)
def test_what_is_called_like_a_relation(surface: str, is_one: bool) -> None:
    assert words_of(NAMES).names_a_relation(spoken(surface)) is is_one


def test_a_relation_is_known_among_any_number_that_share_its_word() -> None:
    words = words_of([*(f"genre of kind{number}" for number in range(2000)), "genre"])
    assert words.names_a_relation(spoken("Genre"))


def test_a_saved_index_says_the_same(tmp_path: Path) -> None:
    texts = relation_texts(NAMES)
    index = LexicalIndex.build(texts)
    index.save(tmp_path / "terms")
    loaded = RelationWords(LexicalIndex.load(tmp_path / "terms", len(texts)), NAMES)
    built = RelationWords(index, NAMES)
    assert loaded.said.tolist() == built.said.tolist()
    for question in QUESTIONS:
        one, other = loaded.asked(question), built.asked(question)
        assert one.asked == other.asked
        for name in ("relation_words", "places", "weight", "agreement"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
