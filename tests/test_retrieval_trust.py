"""Trust in similarities: against draws of chance, and with the real encoder on a language it cannot read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.bases import read_lines
from ytrag_core.retrieval.trust import Background, Spread, sample_rows

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder


@pytest.mark.parametrize("n", [0, 1, 2, 511, 512, 513, 1_000_000])
def test_a_sample_is_even_and_ascending(n: int) -> None:
    rows = sample_rows(n)
    assert len(rows) == min(n, 512)
    assert (np.diff(rows) > 0).all()
    if n:
        assert 0 <= rows[0] <= rows[-1] < n


def test_trust_by_hand() -> None:
    spread = Spread(mean=0.1, deviation=0.05, n=1000)
    chance = 3.7169
    assert spread.trust(0.1 + 0.05 * chance) == pytest.approx(0.01)
    assert spread.trust(0.1 + 0.05 * chance * 2**0.5) == pytest.approx(1.0, abs=1e-4)
    assert spread.trust(0.1 + 0.05 * chance * 1.2) == pytest.approx(2 * (1 - 1 / 1.44), abs=1e-4)
    assert spread.trust(-1.0) == 0.01
    assert spread.trust(0.9) == 1.0


def test_of_a_few_texts_nothing_is_said() -> None:
    assert Spread(mean=0.1, deviation=0.05, n=20).trust(0.1) == 1.0
    assert Background(np.empty((0, 8), np.uint16), 0).spread(np.zeros(8, np.float32)).trust(0.0) == 1.0


def test_equal_texts_do_not_divide_by_nothing() -> None:
    rows = np.full((100, 4), 0.5, np.float16).view(np.uint16)
    spread = Background(rows, 100).spread(np.full(4, 0.5, np.float32))
    assert spread.standardised(np.ones(3, np.float32)).tolist() == [0.0, 0.0, 0.0]
    assert spread.trust(1.0) == 0.01


def test_random_vectors_are_not_trusted() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(5000, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    background = Background(vectors[sample_rows(5000)].astype(np.float16).view(np.uint16), 5000)
    queries = vectors[:50] @ np.linalg.qr(rng.normal(size=(64, 64)))[0].astype(np.float32)
    trust = [background.spread(query).trust(float((vectors @ query).max())) for query in queries]
    assert np.mean(trust) < 0.1


def test_an_encoder_is_trusted_in_the_language_that_it_reads(shared_data: Path, encoder: Encoder) -> None:
    means = {}
    for name in ("musique_train", "cmrc2018_trial_zh"):
        questions = read_lines(shared_data / name / "questions.jsonl")[:60]
        gold = {passage for question in questions for passage in question["supporting_ids"]}
        corpus = read_lines(shared_data / name / "corpus.jsonl")
        corpus.sort(key=lambda row: row["id"] not in gold)
        vectors = encoder.encode([row["text"][:300] for row in corpus[:150]])
        background = Background(vectors.astype(np.float16).view(np.uint16), len(vectors))
        asked = [encoder.encode_query(row["question"]) for row in questions]
        means[name] = np.mean(
            [background.spread(query).trust(float((vectors @ query).max())) for query in asked]
        )
    assert means["musique_train"] > 3 * means["cmrc2018_trial_zh"]
