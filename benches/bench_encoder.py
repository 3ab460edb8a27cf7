"""Encoding beside plain ONNX Runtime in arrival order, and one question alone.

The comparison with torch is `encoder_ratio.py`, in an environment of its own.
"""

from __future__ import annotations

from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any

import encoder_texts
import numpy as np
import pytest

from ytrag_core.config import available_cores
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.inference import open_session, run_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.precision import Precision

PLAIN = "plain runtime, text by text"
SIZES = {"names": 2000, "triples": 600, "passages": 80}


@cache
def encoder_of(precision: Precision) -> Encoder:
    return Encoder.load(precision=precision)


@cache
def texts_of(kind: str, n: int) -> list[str]:
    if kind == "passages":
        return encoder_texts.passages(n, encoder_of("fp32").tokenizer)
    return encoder_texts.names(n) if kind == "names" else encoder_texts.triples(n)


def plain(encoder: Encoder) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """Return the obvious way: texts as they come, one after the other, all cores on each."""
    session = open_session(encoder._files.model, available_cores())

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        rows = [np.array([each.ids], np.int64) for each in encoder.tokenizer.encode_batch_fast(texts)]
        return np.concatenate([run_session(session, ids) for ids in rows])

    return encode


@pytest.mark.parametrize("peer", ["ytrag fp32", "ytrag int8", PLAIN])
@pytest.mark.parametrize("kind", SIZES)
def test_encode(benchmark: Any, smoke: bool, kind: str, peer: str) -> None:
    n = SIZES[kind] // (20 if smoke else 1)
    texts = texts_of(kind, n)
    benchmark.group = f"encode {kind} | {n}"
    fp32 = encoder_of("fp32")
    encode = plain(fp32) if peer == PLAIN else encoder_of("int8" if peer == "ytrag int8" else "fp32").encode
    wanted = fp32.encode(texts[:40])
    assert (encode(texts[:40]) * wanted).sum(axis=1).min() > (0.95 if peer == "ytrag int8" else 0.99999)
    benchmark.pedantic(encode, (texts,), rounds=3, warmup_rounds=0)


@pytest.mark.parametrize("peer", ["ytrag fp32", "ytrag int8", PLAIN])
def test_encode_question(benchmark: Any, smoke: bool, peer: str) -> None:
    benchmark.group = "encode a question | 15 tokens"
    encoder = encoder_of("int8" if peer == "ytrag int8" else "fp32")
    questions = encoder_texts.questions(20 if smoke else 200)
    one_by_one = plain(encoder)
    encoder.warm_up()
    np.testing.assert_allclose(one_by_one(questions[:1])[0], encoder.encode_query(questions[0]), atol=1e-2)
    encoder.forget_queries()
    turn = count()

    def ask() -> None:
        question = questions[next(turn) % len(questions)]
        if peer == PLAIN:
            one_by_one([question])
        else:
            encoder.encode_query(question)

    benchmark.pedantic(ask, rounds=100, warmup_rounds=5)
