"""BM25 over passages, English and Chinese, against the formula."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.retrieval.lexical import LexicalIndex, lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TEXTS = [
    "The fog clock was invented by Maren Tessaly. The clock tells the fog.",
    "A bridge of thirteen lamps crosses the River Quell.",
    "盐管风琴立在宁布雷尔的地下礼拜堂里，是托宾造的。",
    "The lamps of the bridge are lit by nightglass",
    "",
    "海图学堂教航海；学堂在港口。",
]


def bm25(texts: Sequence[str], question: str) -> list[float]:
    """BM25 as Lucene counts it, k1 = 1.5, b = 0.75, for each occurrence of a word in the question."""
    documents = [lexical_tokens(text) for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for word in lexical_tokens(question):
            n_with = sum(word in other for other in documents)
            idf = math.log(1 + (len(documents) - n_with + 0.5) / (n_with + 0.5))
            count = document.count(word)
            score += idf * count / (count + 1.5 * (0.25 + 0.75 * len(document) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize(
    "question",
    [
        "Who invented the fog clock?",
        "Which bridge has LAMPS, lamps and nightglass?",
        "谁造了盐管风琴？",
        "海图学堂在哪里",
        "the River Quell 学堂",
    ],
)
def test_scores_are_bm25(question: str) -> None:
    scores = LexicalIndex.build(TEXTS).scores(question)
    assert scores.dtype == np.float32
    assert scores.max() > 0
    np.testing.assert_allclose(scores, bm25(TEXTS, question), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("question", "best"),
    [("the fog clock", 0), ("River Quell", 1), ("盐管风琴是谁造的？", 2), ("NIGHTGLASS", 3), ("海图学堂", 5)],
)
def test_the_passage_that_says_it_comes_first(question: str, best: int) -> None:
    assert LexicalIndex.build(TEXTS).scores(question).argmax() == best


@pytest.mark.parametrize("question", ["Who invented the fog clock?", "谁造了盐管风琴？", "fog zeppelin fog"])
def test_coverage_is_bm25_of_what_the_question_weighs(question: str) -> None:
    documents = [lexical_tokens(text) for text in TEXTS]
    weight = 0.0
    for word in lexical_tokens(question):
        n_with = sum(word in document for document in documents)
        weight += math.log(1 + (len(documents) - n_with + 0.5) / (n_with + 0.5))
    coverage = LexicalIndex.build(TEXTS).coverage(question)
    assert coverage.dtype == np.float32
    assert 0.0 < coverage.max() < 1.0
    np.testing.assert_allclose(coverage, np.array(bm25(TEXTS, question)) / weight, rtol=1e-5, atol=1e-6)


def test_a_text_that_answers_alone_covers_more_than_one_of_two() -> None:
    index = LexicalIndex.build(TEXTS)
    assert index.coverage("fog clock Tessaly").max() > 2 * index.coverage("fog Quell nightglass").max()


@pytest.mark.parametrize("question", ["", "?", "the of and", "zeppelin", "飞艇", "a"])
def test_no_shared_term_gives_zeros(question: str) -> None:
    index = LexicalIndex.build(TEXTS)
    assert index.scores(question).tolist() == [0.0] * len(TEXTS)
    assert index.coverage(question).tolist() == [0.0] * len(TEXTS)


@pytest.mark.parametrize("texts", [[], [""], ["the", "?!"]])
def test_an_index_without_terms(texts: list[str], tmp_path: Path) -> None:
    index = LexicalIndex.build(texts)
    index.save(tmp_path / "bm25")
    for opened in (index, LexicalIndex.load(tmp_path / "bm25", len(texts))):
        assert opened.scores("the fog").tolist() == [0.0] * len(texts)
        assert not opened.knows("fog")


def test_a_saved_index_scores_alike(tmp_path: Path) -> None:
    index = LexicalIndex.build(TEXTS)
    index.save(tmp_path / "bm25")
    loaded = LexicalIndex.load(tmp_path / "bm25", len(TEXTS))
    for question in ("fog clock", "盐管风琴在宁布雷尔", "lamps of the bridge", "zeppelin"):
        np.testing.assert_array_equal(loaded.scores(question), index.scores(question))


@pytest.mark.parametrize("word", ["fog", "lamps", "bridge", "学堂", "zeppelin"])
def test_the_texts_that_hold_a_word_and_how_rare_it_is(word: str, tmp_path: Path) -> None:
    index = LexicalIndex.build(TEXTS)
    index.save(tmp_path / "bm25")
    holding = [position for position, text in enumerate(TEXTS) if word in lexical_tokens(text)]
    rarity = math.log(1 + (len(TEXTS) - len(holding) + 0.5) / (len(holding) + 0.5))
    for opened in (index, LexicalIndex.load(tmp_path / "bm25", len(TEXTS))):
        holders = opened.holders(word)
        assert holders.dtype == np.int32
        assert sorted(holders.tolist()) == holding
        assert opened.rarity(word) == pytest.approx(rarity)


def test_the_words_of_a_text_weigh_what_they_are_rare_each_once() -> None:
    index = LexicalIndex.build(TEXTS)
    weights = index.term_weights()
    assert weights.dtype == np.float32
    wanted = [sum(map(index.rarity, sorted(set(lexical_tokens(text))))) for text in TEXTS]
    np.testing.assert_allclose(weights, wanted, rtol=1e-5)


def test_without_terms_nothing_is_held() -> None:
    index = LexicalIndex.build(["", "the"])
    assert index.holders("fog").tolist() == []
    assert index.term_weights().tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Which FOG lies on the fog of zeppelins?", ["fog", "fog"]),
        ("隶属于是什么", ["隶属", "隶属于", "属于"]),
        ("谁隶属于的隶属于？", ["隶属", "隶属于", "属于"] * 2),
        ("the fog隶属", ["fog", "隶属"]),
        ("隶", []),
        ("", []),
    ],
)
def test_known_words_of_a_text(text: str, words: list[str]) -> None:
    index = LexicalIndex.build(["fog of the sea", "隶属于"])
    assert index.known_words(text) == words


def test_unknown_words_of_a_text() -> None:
    index = LexicalIndex.build(["fog of the sea", "隶属于"])
    assert index.unknown_words("The lamp in the fog, a lamp of 学堂") == ["lamp", "lamp"]
    assert LexicalIndex.build([]).unknown_words("the fog") == ["fog"]


def test_tokens() -> None:
    assert lexical_tokens("The Fog-Clock's 13 LAMPS, a b") == ["fog", "clock", "13", "lamps"]
    assert lexical_tokens("Ｆｏｇ") == ["fog"]
    assert lexical_tokens("Quell河") == ["quell", "河"]
    chinese = lexical_tokens("地下礼拜堂里的乐器")
    assert {"地下", "乐器"} <= set(chinese)
