"""Sentences that state a fact, and sentences that bear on a question, in two languages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracle_sentences import PassageSentences, best_sentences, stating_sentences
from ytrag_core.documents.sentences import split_sentences
from ytrag_core.kernels.sentences import telling_sentences
from ytrag_core.retrieval.sentences import (
    SENTENCE_SPEC,
    Passages,
    sentence_arrays,
    sentences_that_tell,
)

if TYPE_CHECKING:
    from ytrag_core.knowledge_base import KnowledgeBase

ENGLISH = (
    "Christopher Nolan is a director. Nolan was born in London. He shot Inception in Paris. "
    "London is a large city, and Christopher Nolan often returns to London."
)
CHINESE = "周岚是灯塔的设计者。灯塔由周岚建于1921年。她生于东港。东港的海很冷。"


@pytest.mark.parametrize(
    ("text", "triple", "stated"),
    [
        (ENGLISH, ("Christopher Nolan", "is", "director"), [0]),
        (ENGLISH, ("Christopher Nolan", "born in", "London"), [3]),
        (ENGLISH, ("Nolan", "born in", "London"), [1]),
        (ENGLISH, ("Inception", "shot in", "paris"), [2]),
        (ENGLISH, ("Nola", "born in", "Lond"), []),
        (ENGLISH, ("", "is", ""), []),
        (CHINESE, ("灯塔", "建于", "1921年"), [1]),
        (CHINESE, ("周岚", "设计", "灯塔"), [0]),
        (CHINESE, ("周岚", "生于", "东港"), [2]),
        (CHINESE, ("周岚", "死于", "西港"), [0]),
        ("One sentence about Ada", ("Ada", "is", "x"), [0]),
        ("", ("Ada", "is", "x"), []),
        ("Ada met Bo. Bo met Ada. Ada met Bo.", ("Ada", "met", "Bo"), [0, 1]),
        ("İstanbul straße. Die Straße liegt in İSTANBUL.", ("straße", "liegt in", "istanbul"), [1]),
    ],
)
def test_sentences_that_state_a_fact(text: str, triple: tuple[str, str, str], stated: list[int]) -> None:
    assert stating_sentences(PassageSentences(text), *triple) == stated
    passages = Passages.split([text])
    ((*found,),), _ = sentences_that_tell(passages, 0, [triple], [(0, 0)], {})
    assert found == [PassageSentences(text).spans[sentence] for sentence in stated]


TEXTS = st.text("ab 。.!A1İß灯塔\n", max_size=24)
WORDS = st.text("ab1灯塔 ß", max_size=3).map(str.strip)


@given(
    st.lists(TEXTS, max_size=4),
    st.lists(st.tuples(WORDS, WORDS, WORDS), max_size=4),
    st.dictionaries(WORDS.filter(bool), st.integers(0, 3), max_size=4),
    st.data(),
)
def test_the_kernel_finds_what_string_searches_find(
    texts: list[str], triples: list[tuple[str, str, str]], words: dict[str, int], data: st.DataObject
) -> None:
    pairs = st.tuples(st.integers(0, max(len(triples) - 1, 0)), st.integers(0, max(len(texts) - 1, 0)))
    stated = data.draw(st.lists(pairs, max_size=6)) if texts and triples else []
    n_shown = data.draw(st.integers(0, len(texts)))
    passages = Passages.split(texts)
    weights = {word: float(weight) for word, weight in words.items()}
    stating, bearing = sentences_that_tell(passages, n_shown, triples, stated, weights)
    oracles = [PassageSentences(text) for text in texts]
    counted: list[list[int]] = [[] for _ in texts]
    for (triple, place), spans in zip(stated, stating, strict=True):
        wanted = stating_sentences(oracles[place], *triples[triple])
        counted[place] += wanted
        assert spans == [oracles[place].spans[sentence] for sentence in wanted]
    for oracle, facts, spans in zip(oracles, counted, bearing, strict=False):
        assert spans == [oracle.spans[sentence] for sentence in best_sentences(oracle, weights, facts)]
    assert len(bearing) == n_shown


def test_sentences_of_all_passages_side_by_side() -> None:
    arrays = sentence_arrays([ENGLISH, "", CHINESE])
    assert set(arrays) == set(SENTENCE_SPEC)
    assert arrays["sentence_indptr"].tolist() == [0, 4, 4, 8]
    spans = list(zip(arrays["sentence_start"].tolist(), arrays["sentence_end"].tolist(), strict=True))
    assert spans == [*split_sentences(ENGLISH), *split_sentences(CHINESE)]
    assert sentence_arrays([])["sentence_indptr"].tolist() == [0]


def test_indices_out_of_range_are_refused() -> None:
    text = np.array([97, 98], np.uint32)
    arguments: dict[str, Any] = {
        "text": np.array([97, 32], np.uint32),
        "text_indptr": np.array([0, 2]),
        "sentence_indptr": np.array([0, 1]),
        "sentence_start": np.zeros(1, np.int32),
        "needle": text,
        "needle_indptr": np.array([0, 1, 2]),
        "letters": np.zeros(128, bool),
        "group_needles": np.array([0, 1], np.int32),
        "group_indptr": np.array([0, 1, 2, 2, 2, 2]),
        "stated_triple": np.zeros(1, np.int32),
        "stated_passage": np.zeros(1, np.int32),
        "words": np.zeros(1, np.int32),
        "word_weight": np.ones(1),
        "n_shown": 1,
    }
    stating, bearing = telling_sentences(*arguments.values())
    assert (stating.tolist(), bearing.tolist()) == ([[0, -1]], [[0, -1]])
    wrong: Any
    for name, wrong in (
        ("text_indptr", np.array([0, 3])),
        ("sentence_indptr", np.array([0, 2])),
        ("needle_indptr", np.array([0, 1, 3])),
        ("group_needles", np.array([0, 2], np.int32)),
        ("group_indptr", np.array([0, 1, 2, 2, 2, 3])),
        ("stated_triple", np.ones(1, np.int32)),
        ("stated_passage", np.full(1, -1, np.int32)),
        ("words", np.full(1, 2, np.int32)),
        ("n_shown", 2),
    ):
        changed: dict[str, Any] = arguments | {name: wrong}
        with pytest.raises(ValueError, match=r"range|behind|than there are"):
            telling_sentences(*changed.values())


def test_words_are_whole_in_an_alphabet_and_parts_in_chinese() -> None:
    passage = PassageSentences("Particular arts. Art is art. 看港口的艺术家，art在东港。")
    assert passage.places("art") == (1, 2)
    assert passage.places("港") == (2,)
    assert passage.places("cular") == ()
    assert passage.places("") == ()


def test_offsets_stay_true_where_lower_case_is_longer() -> None:
    text = "İİİ. Ada is here."
    passage = PassageSentences(text)
    (place,) = passage.places("ada")
    assert text[slice(*passage.spans[place])] == "Ada is here."


def test_sentences_that_bear_on_a_question() -> None:
    passage = PassageSentences(ENGLISH)
    assert best_sentences(passage, {"inception": 3.0, "born": 1.0}, []) == [2]
    assert best_sentences(passage, {"inception": 3.0, "born": 2.0}, []) == [1, 2]
    assert best_sentences(passage, {"inception": 3.0}, [0, 0]) == [0, 2]
    assert best_sentences(passage, {"zebra": 3.0}, []) == [0]
    assert best_sentences(PassageSentences("One."), {}, []) == [0]
    assert best_sentences(PassageSentences(""), {"a": 1.0}, []) == []


@pytest.mark.parametrize(
    "question",
    ["In which city was the designer of the Thirteen Lamps Bridge born?", "盐管风琴是谁造的？"],
)
def test_evidence_says_where_it_is_stated(sample_kb: KnowledgeBase, question: str) -> None:
    evidence = sample_kb.retrieve(question, top_k=20)
    texts = {name: sample_kb.view.chunks.text(row) for row, name in enumerate(sample_kb.view.chunks.ids)}
    document = evidence.to_json()
    for chunk in document["chunks"]:
        assert 1 <= len(chunk["sentences"]) <= 2
        starts = [sentence["start"] for sentence in chunk["sentences"]]
        assert starts == sorted(starts)
        for sentence in chunk["sentences"]:
            assert chunk["text"][sentence["start"] : sentence["end"]] == sentence["text"] != ""
        assert chunk["document"]
        assert chunk["start"] >= 0
    n_stated = 0
    for triple in evidence.triples:
        assert {sentence.chunk_id for sentence in triple.sentences} <= set(triple.chunk_ids)
        for sentence in triple.sentences:
            said = texts[sentence.chunk_id][sentence.start : sentence.end].casefold()
            words = [*triple.head.casefold().split(), *triple.tail.casefold().split()]
            assert any(word in said for word in words)
        n_stated += bool(triple.sentences)
    assert n_stated >= 0.8 * len(evidence.triples)
