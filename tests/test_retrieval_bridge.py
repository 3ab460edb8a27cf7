"""The second hop against plain Python, and the words of titles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.retrieval.bridge import bridge_scores
from ytrag_core.retrieval.lexical import LexicalIndex
from ytrag_core.retrieval.titles import TitleIndex, title_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.knowledge_base import KnowledgeBase


def plain_scores(
    kb: KnowledgeBase, rows: list[int], likelihood: list[float], named: set[int], n_first: int = 5
) -> list[float]:
    view = kb.view
    held: dict[int, set[int]] = {row: set() for row in range(view.n_chunks)}
    for node in range(view.n_entities):
        start, end = view.node_chunks.indptr[node : node + 2].tolist()
        for chunk in view.node_chunks.chunks[start:end].tolist():
            held[chunk].add(node)
    order = sorted(range(len(rows)), key=lambda place: (-np.float32(likelihood[place]), place))[:n_first]
    total = sum(likelihood[place] for place in order)
    scores = []
    for place, row in enumerate(rows):
        best = 0.0
        for node in held[row] - named:
            share = sum(
                likelihood[other] / total for other in order if other != place and node in held[rows[other]]
            )
            n_holding = sum(node in nodes for nodes in held.values())
            best = max(best, share * math.log(1 + view.n_chunks / n_holding) / math.log(1 + view.n_chunks))
        scores.append(best)
    return scores


@pytest.mark.parametrize("seed", range(4))
def test_bridges_as_defined(sample_kb: KnowledgeBase, seed: int) -> None:
    draw = np.random.default_rng(seed)
    view = sample_kb.view
    rows = np.sort(draw.choice(view.n_chunks, 25, replace=False)).astype(np.int32)
    likelihood = draw.random(25) ** 4
    named = np.sort(draw.choice(view.n_entities, 12, replace=False)).astype(np.int32)
    found = bridge_scores(view, rows, likelihood, named)
    assert found.dtype == np.float32
    assert found.tolist() == pytest.approx(
        plain_scores(sample_kb, rows.tolist(), likelihood.tolist(), set(named.tolist())), abs=1e-6
    )
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("n", [0, 1])
def test_one_passage_has_nothing_to_be_linked_to(sample_kb: KnowledgeBase, n: int) -> None:
    rows = np.arange(n, dtype=np.int32)
    assert bridge_scores(sample_kb.view, rows, np.ones(n), np.empty(0, np.int32)).tolist() == [0.0] * n


def test_no_likelihood_no_bridge(sample_kb: KnowledgeBase) -> None:
    rows = np.arange(5, dtype=np.int32)
    assert not bridge_scores(sample_kb.view, rows, np.zeros(5), np.empty(0, np.int32)).any()


def shares(titles: list[str], question: str) -> NDArray[np.float32]:
    lexical = LexicalIndex.build([f"{title}\nsome text" for title in titles])
    index = TitleIndex(title_arrays(titles, lexical), lexical)
    return index.shares(question, np.arange(len(titles), dtype=np.int32))


def test_the_share_of_a_title() -> None:
    titles = ["Thirteen Lamps Bridge", "Thirteen Moons", "", "The Of", "鲸湖大桥", "Bridge of Bridges"]
    found = shares(titles, "Who built the Thirteen Lamps Bridge?")
    assert found[0] == 1.0
    assert 0.0 < found[1] < 1.0
    assert found[[2, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    assert shares(titles, "鲸湖大桥是谁建的？")[4] == 1.0
    assert not shares(titles, "What?").any()
    assert shares([], "What?").tolist() == []


def test_rare_words_of_a_title_count_more() -> None:
    titles = ["Stone Harp", *["Stone"] * 20]
    assert shares(titles, "the harp")[0] > 0.5 > shares(titles, "a stone")[0]
