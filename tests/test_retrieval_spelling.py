"""Unknown words of a question: what they are read as, against edits made here."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.bases import read_lines
from ytrag_core.retrieval.lexicon import Lexicon, build_lexicon
from ytrag_core.retrieval.spelling import respell

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.knowledge_base import KnowledgeBase

TEXTS = [
    "Antonín Dvořák could write the New World Symphony in Manhattan.",
    "São Paulo lies in Brazil; Aschenbrödel is a ballet. So it is said.",
    "The Drowned Almanac was printed by a house in Brazil.",
    "Москва и Петербург",
    "盐管风琴立在宁布雷尔的地下礼拜堂里。",
]


@pytest.fixture(scope="module")
def lexicon() -> Lexicon:
    return Lexicon.from_arrays(build_lexicon(enumerate(TEXTS), TEXTS))


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("Who printed the Drowned Almanac?", "Who printed the Drowned Almanac?"),
        ("Is the Drowned Almanc printed in Brazil?", "Is the Drowned Almanac printed in Brazil?"),
        ("Is the Drowned Almnaac printed in Brasil?", "Is the Drowned Almanac printed in Brazil?"),
        ("the DROWNEDD almanac", "the DROWNED almanac"),
        ("What did Antonin Dvorak write?", "What did Antonín Dvořák write?"),
        ("Sao Paulo in Brazil's south", "São Paulo in Brazil's south"),
        ("Aschenbrodel", "Aschenbrödel"),
        ("the álmanac", "the almanac"),
        ("the Rdowned house", "the Drowned house"),
        ("Brown in Brazil", "Brown in Brazil"),
        ("Who was the printer of the Almanca?", "Who was the printer of the Almanac?"),
        ("Who owned the printed almanacs, a symhony?", "Who owned the printed almanacs, a symphony?"),
        ("who was the prinetd almanca by", "who was the printed almanac by"),
        ("Msoква и Москав", "Msoква и Москва"),
        ("盐管风琵在哪里", "盐管风琵在哪里"),
        ("zz in it", "zz in it"),
        ("", ""),
    ],
)
def test_what_a_question_is_read_as(lexicon: Lexicon, question: str, meant: str) -> None:
    assert respell(question, lexicon) == meant


def test_a_question_of_another_world_stays(lexicon: Lexicon) -> None:
    question = "Wer hat den Almanc gedruckt und Brazl gesehen"
    assert respell(question, lexicon) == question


def test_no_texts() -> None:
    nothing = Lexicon.from_arrays(build_lexicon([], []))
    assert respell("Who printed the Almanac?", nothing) == "Who printed the Almanac?"
    assert nothing.n_holding(["almanac"]) == [0]


def test_a_very_long_word_stays(lexicon: Lexicon) -> None:
    assert respell("almanac" * 100, lexicon) == "almanac" * 100


def test_slips_in_real_names_are_mostly_undone(shared_data: Path) -> None:
    texts = [row["text"] for row in read_lines(shared_data / "musique_train" / "corpus.jsonl")]
    lexicon = Lexicon.from_arrays(build_lexicon([], texts))
    rng = random.Random(0)
    names = sorted(
        {word for text in texts[:300] for word in text.split() if word.isalpha() and word.istitle()}
    )
    slipped, undone = 0, 0
    for name in rng.sample([name for name in names if len(name) > 6], 100):
        place = rng.randrange(1, len(name) - 1)
        written = name[:place] + name[place + 1 :]
        if lexicon.n_holding([written.lower()])[0]:
            continue
        slipped += 1
        undone += respell(f"Where was {written}?", lexicon) == f"Where was {name}?"
    assert slipped > 80
    assert undone > 0.85 * slipped


def test_evidence_says_what_a_question_was_read_as(sample_kb: KnowledgeBase) -> None:
    right = "Who founded the house that printed The Drowned Almanac?"
    wrong = right.replace("Drowned", "Drowmed").replace("Almanac", "Almanca")
    evidence = sample_kb.retrieve(wrong)
    assert evidence.question == wrong
    assert evidence.read_as == evidence.to_json()["read_as"] == right
    exact = sample_kb.retrieve(right)
    assert "read_as" not in exact.to_json()
    assert [chunk.id for chunk in evidence.chunks] == [chunk.id for chunk in exact.chunks]
