"""Sentences that state a fact, and sentences that bear on a question, in two languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ytrag_core.retrieval.sentences import PassageSentences, best_sentences, stating_sentences

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
    texts = {name: sample_kb.view.chunk(row)[2] for row, name in enumerate(sample_kb.view.chunk_ids)}
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
