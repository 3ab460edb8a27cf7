"""Encoding beside the plain way to do it.

Run with `pytest benches/bench_embedding.py`. sentence-transformers joins in where it is installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

from ytrag_core.embedding.encoder import Encoder

N_NAMES = 1000
FIRST = ["Saint", "New", "Old", "Upper", "Lower", "East", "West", "Great", "Little", "Port"]
LAST = ["Bridge", "Haven", "Field", "Castle", "River", "Abbey", "Harbour", "Market", "Hill", "Forest"]


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder.load()


@pytest.fixture(scope="module")
def names() -> list[str]:
    return [f"{FIRST[i % 10]} {LAST[i // 10 % 10]} {i // 100}" for i in range(N_NAMES)]


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
