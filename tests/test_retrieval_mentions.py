"""Which names of a question count, and what the question asks about them."""

from __future__ import annotations

import math

import pytest

from ytrag_core.config import RetrievalSettings
from ytrag_core.retrieval.lexicon import Lexicon, build_lexicon
from ytrag_core.retrieval.mentions import Mention, find_mentions, residual_question, telling

NAMES = [
    (0, "Damerjog"),
    (1, "country"),
    (2, "Chad"),
    (3, "盐管风琴"),
    (4, "Chad"),
    (5, "in"),
    (6, "Chad Lake"),
]
TEXTS = ["Damerjog lies in a country", "Chad is a country", "a country in the south", "in Chad", "盐管风琴"]
LEXICON = Lexicon.from_arrays(build_lexicon(NAMES, TEXTS))


def mentions(question: str, **changes: float) -> dict[str, Mention]:
    settings = RetrievalSettings().model_copy(update=changes)
    return {mention.surface: mention for mention in find_mentions(question, LEXICON, settings)}


def test_weights_by_hand() -> None:
    found = mentions("Which country is Damerjog in?", mention_power=2.0, common_noun_factor=0.1)
    country = 0.1 * math.log(1 + 5 / 4) ** 2
    place = math.log(1 + 5 / 2) ** 2
    preposition = 0.1**2 * math.log(1 + 5 / 4) ** 2
    total = country + place + preposition
    assert list(found) == ["country", "Damerjog", "in"]
    assert found["country"].weight == pytest.approx(country / total)
    assert found["Damerjog"].weight == pytest.approx(place / total)
    assert [mention.surface for mention in telling(list(found.values()))] == ["Damerjog"]


def test_without_a_capital_every_name_counts_in_full() -> None:
    found = mentions("which country is damerjog in", mention_power=1.0)
    assert found["country"].weight / found["damerjog"].weight == pytest.approx(
        math.log(1 + 5 / 4) / math.log(1 + 5 / 2)
    )


def test_chinese_names_are_no_common_nouns() -> None:
    found = mentions("盐管风琴 in Damerjog")
    assert found["盐管风琴"].weight == pytest.approx(found["Damerjog"].weight)


def test_homonyms_are_one_mention_of_all_bearers_and_repeats_are_one() -> None:
    question = "Is Chad beside Chad, or CHAD?"
    found = mentions(question)
    assert list(found) == ["Chad"]
    assert found["Chad"].nodes == (2, 4)
    assert found["Chad"].weight == 1.0
    assert [question[start:end] for start, end in found["Chad"].spans] == ["Chad", "Chad", "CHAD"]


def test_weights_sum_to_one_or_there_are_none() -> None:
    assert sum(mention.weight for mention in mentions("Damerjog, Chad, a country").values()) == pytest.approx(
        1
    )
    assert mentions("What is that?") == {}
    assert telling([]) == []


def named(question: str, names: dict[int, str]) -> dict[str, Mention]:
    lexicon = Lexicon.from_arrays(build_lexicon(names.items(), names.values()))
    found = find_mentions(question, lexicon, RetrievalSettings(), names.__getitem__)
    return {mention.surface: mention for mention in found}


WORDS = {0: "tell", 1: "Is", 2: "dinar", 3: "Base", 4: "base", 5: "Neil Young", 6: "so-so", 7: "hypernym"}


@pytest.mark.parametrize(
    "question",
    [
        "Tell me the hypernym of dinar.",
        "Is dinar a hypernym?",
        "What is a dinar?",
        "which dinar is it",
        "Hello. Tell of dinar",
    ],
)
def test_a_capital_that_the_sentence_asks_for_makes_no_name(question: str) -> None:
    found = named(question, WORDS)
    assert found["dinar"].weight == max(mention.weight for mention in found.values())
    assert all(mention.weight < 0.05 for surface, mention in found.items() if surface.lower() == "is")


def test_a_name_at_the_start_of_a_sentence_is_one_by_its_own_spelling() -> None:
    found = named("Neil Young, is he the hypernym of dinar?", WORDS)
    assert found["Neil Young"].weight > 5 * found["dinar"].weight


def test_function_words_are_names_where_they_are_capitalised_inside_a_sentence() -> None:
    found = named("In which country lies Is?", {**WORDS, 8: "country"})
    assert found["Is"].weight > 5 * found["country"].weight


def test_bearers_that_are_spelled_as_asked_come_first() -> None:
    assert (named("the sense of Base", WORDS)["Base"].nodes, named("a base", WORDS)["base"].nodes) == (
        (3, 4),
        (4, 3),
    )
    assert named("a BASE", WORDS)["BASE"].n_exact == 0
    assert named("a base", WORDS)["base"].n_exact == 1
    assert named("so-so", WORDS)["so-so"].nodes == (6,)


@pytest.mark.parametrize(
    ("question", "rest"),
    [
        ("Which country is Damerjog in?", "Which country is in?"),
        ("谁造了盐管风琴？", "谁造了 ？"),
        ("Damerjog", ""),
        ("Who, in Damerjog, knows Damerjog?", "Who, in , knows ?"),
        ("Who is it?", "Who is it?"),
        (" Who   is it? ", "Who is it?"),
    ],
)
def test_what_is_asked_about_the_names(question: str, rest: str) -> None:
    assert residual_question(question, telling(list(mentions(question).values()))) == rest


@pytest.mark.parametrize(
    ("before", "at_start"), [("", True), ("Yes. (“", True), (", ", False), (" " * 70, False)]
)
def test_where_a_sentence_starts(before: str, at_start: bool) -> None:
    found = mentions(f"{before}In Chad", mention_power=1.0)
    assert (found["In"].weight < 0.02) is at_start
