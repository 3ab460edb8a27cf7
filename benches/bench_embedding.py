"""Encoding and nearest neighbours, each beside the plain way to do it.

Run with `pytest benches/bench_embedding.py`. sentence-transformers joins in where it is installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.index import VectorIndex

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_NAMES = 1000
N_ROWS = 50_000
FIRST = ["Saint", "New", "Old", "Upper", "Lower", "East", "West", "Great", "Little", "Port"]
LAST = ["Bridge", "Haven", "Field", "Castle", "River", "Abbey", "Harbour", "Market", "Hill", "Forest"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load()


@pytest.fixture(scope="module")
def names() -> list[str]:
    return [f"{FIRST[i % 10]} {LAST[i // 10 % 10]} {i // 100}" for i in range(N_NAMES)]


@pytest.fixture(scope="module")
def rows() -> NDArray[np.float16]:
    rng = np.random.default_rng(0)
    spread = (1 / np.sqrt(1 + np.arange(384) / 24)).astype(np.float32)
    rows = rng.standard_normal((N_ROWS, 384), dtype=np.float32) * spread
    halves: NDArray[np.float16] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)
    return halves


@pytest.fixture(scope="module")
def questions(rows: NDArray[np.float16]) -> NDArray[np.float32]:
    noise = np.random.default_rng(1).standard_normal((64, 384), dtype=np.float32) * np.float32(0.02)
    queries = rows[:64].astype(np.float32) + noise
    unit: NDArray[np.float32] = (queries / np.linalg.norm(queries, axis=1, keepdims=True)).astype(np.float32)
    return unit


@pytest.mark.parametrize("peer", ["ytrag", "arrival order, batches of 64", "sentence-transformers"])
def test_encode_names(benchmark: Any, encoder: Encoder, names: list[str], peer: str) -> None:
    benchmark.group = f"encode names | {N_NAMES}"
    if peer == "sentence-transformers":
        if find_spec("sentence_transformers") is None:
            pytest.skip("sentence-transformers is not installed")
        model: Any = pytest.importorskip("sentence_transformers").SentenceTransformer("all-MiniLM-L6-v2")
        peer_vectors: Any = model.encode(names, normalize_embeddings=True)
        np.testing.assert_allclose(encoder.encode(names), peer_vectors, atol=1e-3)
        benchmark.pedantic(model.encode, (names,), {"normalize_embeddings": True}, rounds=3)
    elif peer == "ytrag":
        benchmark.pedantic(encoder.encode, (names,), rounds=3, warmup_rounds=1)
    else:
        one = Encoder.load(n_threads=1)
        blocks = [names[start : start + 64] for start in range(0, N_NAMES, 64)]
        benchmark.pedantic(lambda: [one.encode(block) for block in blocks], rounds=3, warmup_rounds=1)


def test_encode_query(benchmark: Any, encoder: Encoder) -> None:
    benchmark.group = "encode a question | 17 tokens"
    number = iter(range(10**9))
    benchmark.pedantic(
        lambda: encoder.encode_query(f"Which country is the city of Old Haven {next(number)} located in?"),
        rounds=60,
        warmup_rounds=5,
    )


@pytest.mark.parametrize("peer", ["ytrag exact", "ytrag graph", "numpy float32", "numpy float16"])
def test_search_one(
    benchmark: Any, rows: NDArray[np.float16], questions: NDArray[np.float32], peer: str
) -> None:
    benchmark.group = f"nearest 20 of one query | {N_ROWS}"
    wide = rows.astype(np.float32)
    wanted = np.argsort(-(wide @ questions[0]), kind="stable")[:20]
    n_asked = iter(range(10**9))

    def question() -> NDArray[np.float32]:
        asked: NDArray[np.float32] = questions[next(n_asked) % len(questions)]
        return asked

    if peer.startswith("ytrag"):
        exact_below = 10**9 if peer == "ytrag exact" else 1000
        index = VectorIndex.build(rows, exact_below=exact_below)
        found = index.search(questions[0], 20)[0][0]
        assert np.isin(wanted, found).mean() >= (1 if index.is_exact else 0.5)
        benchmark.pedantic(lambda: index.search(question(), 20), rounds=40, warmup_rounds=3)
    elif peer == "numpy float32":
        benchmark.pedantic(lambda: np.argpartition(wide @ question(), -20)[-20:], rounds=40, warmup_rounds=3)
    else:
        benchmark.pedantic(
            lambda: np.argpartition(rows.astype(np.float32) @ question(), -20)[-20:],
            rounds=10,
            warmup_rounds=1,
        )
