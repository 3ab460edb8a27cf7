"""The baselines against plain NumPy over the files of the snapshot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tests.bases import live_folder, read_lines, table_rows, write_edges
from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.baselines import BASELINES, make_baseline
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.lexical import lexical_tokens
from ytrag_core.sample import sample_folder
from ytrag_core.storage.arrays import map_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

Scores = NDArray[np.float64]
QUESTIONS = [row["question"] for row in read_lines(sample_folder() / "questions.jsonl")]


def vectors(kb: KnowledgeBase, name: str) -> Scores:
    rows = map_arrays(live_folder(kb.path) / "vectors" / f"{name}.arrow")["vectors"]
    scores: Scores = rows.astype(np.float64)
    return scores


def dense(kb: KnowledgeBase, question: str) -> Scores:
    return vectors(kb, "chunks") @ kb.encoder.encode_query(question).astype(np.float64)


def bm25(kb: KnowledgeBase, question: str) -> Scores:
    texts = [lexical_tokens(f"{row['title']}\n{row['text']}") for row in table_rows(kb.path, "chunks")]
    mean = sum(map(len, texts)) / len(texts)
    scores = np.zeros(len(texts))
    for word in lexical_tokens(question):
        n_with = sum(word in text for text in texts)
        idf = math.log(1 + (len(texts) - n_with + 0.5) / (n_with + 0.5))
        for row, text in enumerate(texts):
            count = text.count(word)
            scores[row] += idf * count / (count + 1.5 * (0.25 + 0.75 * len(text) / mean))
    return scores


def rescaled(scores: Scores) -> Scores:
    spread: Scores = (scores - scores.min()) / (scores.max() - scores.min())
    return spread


def ppr(kb: KnowledgeBase, question: str) -> Scores:
    """Walk over a dense matrix of nodes and passages, seeded by five facts and by all passages."""
    triples = table_rows(kb.path, "triples")
    n_nodes = len(table_rows(kb.path, "entities")) + len(table_rows(kb.path, "attributes"))
    n_chunks = len(table_rows(kb.path, "chunks"))
    chunks_of: dict[int, list[int]] = {row["id"]: [] for row in triples}
    for row in table_rows(kb.path, "mentions"):
        if row["subject"] == "triple":
            chunks_of[row["id"]].append(row["chunk"])
    weights = np.zeros((n_nodes + n_chunks, n_nodes + n_chunks))
    of_node: dict[int, set[int]] = {}
    for row in triples:
        if row["head"] != row["tail"]:
            weights[row["head"], row["tail"]] += len(chunks_of[row["id"]])
        for node in (row["head"], row["tail"]):
            of_node.setdefault(node, set()).update(chunks_of[row["id"]])
    for node, chunks in of_node.items():
        weights[node, [n_nodes + chunk for chunk in chunks]] = 1.0
    graph = map_arrays(live_folder(kb.path) / "graph.arrow")
    weights[graph["alias_source"], graph["alias_target"]] += graph["alias_similarity"]
    weights += weights.T
    seeds = np.zeros(n_nodes + n_chunks)
    seeds[n_nodes:] = 0.05 * rescaled(dense(kb, question))
    facts = rescaled(vectors(kb, "triples") @ kb.encoder.encode_query(question).astype(np.float64))
    ends: dict[int, list[float]] = {}
    for fact in np.argsort(-facts, kind="stable")[:5].tolist():
        for node in (triples[fact]["head"], triples[fact]["tail"]):
            ends.setdefault(node, []).append(float(facts[fact]) / len(of_node[node]))
    for node, values in ends.items():
        seeds[node] = sum(values) / len(values)
    seeds /= seeds.sum()
    strength = weights.sum(axis=1)
    step = np.divide(weights, strength[:, None], out=np.zeros_like(weights), where=strength[:, None] > 0)
    lost = strength == 0
    visits = seeds.copy()
    for _ in range(200):
        visits = 0.5 * seeds + 0.5 * (step.T @ visits + visits[lost].sum() * seeds)
    return visits[n_nodes:]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("name", ["dense", "bm25", "ppr"])
def test_rankings_are_those_of_plain_numpy(sample_kb: KnowledgeBase, name: str, question: str) -> None:
    wanted = {"dense": dense, "bm25": bm25, "ppr": ppr}[name](sample_kb, question)
    ids = [row["id"] for row in table_rows(sample_kb.path, "chunks")]
    ranked = make_baseline(sample_kb, name)(question, 20)
    assert len(set(ranked)) == 20
    scores: Sequence[float] = [wanted[ids.index(chunk)] for chunk in ranked]
    best = np.sort(wanted)[::-1][:20]
    tolerance = 1e-4 * float(best[0])
    np.testing.assert_allclose(scores, best, atol=tolerance)


def test_k_may_exceed_the_passages(sample_kb: KnowledgeBase) -> None:
    for name in BASELINES:
        ranked = make_baseline(sample_kb, name)(QUESTIONS[0], 500)
        assert len(ranked) == len(set(ranked)) == 57


def test_what_cannot_be_ranked(sample_kb: KnowledgeBase, tmp_path: Path, encoder: Encoder) -> None:
    with pytest.raises(ConfigError, match=r"'colbert' arrived; choose from dense, bm25, ppr"):
        make_baseline(sample_kb, "colbert")
    folder = write_edges(
        tmp_path / "graph",
        pa.table({"id": [1, 2], "name": ["Chad", "Africa"]}),
        pa.table({"src": [1], "relation": ["located in"], "dst": [2]}),
    )
    KnowledgeBase.build(tmp_path / "kb", [folder], format="edges", encoder=encoder)
    with pytest.raises(ConfigError, match="no passages"):
        make_baseline(KnowledgeBase.open(tmp_path / "kb", encoder=encoder), "bm25")
