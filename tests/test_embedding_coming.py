"""Questions that are encoded together with later ones of their length."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ytrag_core.embedding.coming import ComingQuestions
from ytrag_core.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

ALIKE = [f"Who built the {thing} of stone?" for thing in ("tower", "bridge", "wall", "house", "church")]
LONGER = "Which river flows past the tower that was built of stone?"


@pytest.fixture
def runs(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Shapes of what the encoder is run on."""
    encoder.forget_queries()
    shapes: list[tuple[int, int]] = []
    run: Callable[..., NDArray[np.float32]] = encoder._run

    def noted(session: Any, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        shapes.append(ids.shape)
        return run(session, ids)

    monkeypatch.setattr(encoder, "_run", noted)
    return shapes


def expecting(encoder: Encoder, texts: list[str]) -> ComingQuestions:
    coming = ComingQuestions(encoder)
    for text in texts:
        coming.expect(text)
    return coming


def test_questions_of_one_length_share_a_run(encoder: Encoder, runs: list[tuple[int, int]]) -> None:
    coming = expecting(encoder, [ALIKE[0], LONGER, *ALIKE[1:]])
    for text in (ALIKE[0], LONGER, *ALIKE[1:]):
        coming.encode(text)
    length = runs[0][1]
    assert [n_texts for n_texts, _ in runs] == [4, 1, 1]
    assert runs[1][1] > length == runs[2][1]
    coming.encode(ALIKE[0])
    assert len(runs) == 3


def test_vectors_are_those_of_each_alone(encoder: Encoder) -> None:
    encoder.forget_queries()
    coming = expecting(encoder, ALIKE)
    together = [coming.encode(text) for text in ALIKE]
    encoder.forget_queries()
    for text, vector in zip(ALIKE, together, strict=True):
        np.testing.assert_allclose(vector, encoder.encode_query(text), atol=1e-6)
        assert not vector.flags.writeable


def test_what_was_not_announced_is_encoded_too(encoder: Encoder, runs: list[tuple[int, int]]) -> None:
    long = "the tower of stone beside the river " * 100
    coming = expecting(encoder, [ALIKE[0], "", long])
    for text in (ALIKE[1], "", long):
        assert coming.encode(text) is encoder.encode_query(text)
    assert sum(n_texts for n_texts, _ in runs[:2]) == 2


def test_threads_wait_for_each_other(encoder: Encoder, runs: list[tuple[int, int]]) -> None:
    coming = expecting(encoder, ALIKE[:4])
    start = threading.Barrier(4)

    def encode(text: str) -> NDArray[np.float32]:
        start.wait()
        return coming.encode(text)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(encode, ALIKE[:4]))
    assert [n_texts for n_texts, _ in runs] == [4]
    assert all(vector is encoder.encode_query(text) for text, vector in zip(ALIKE, found, strict=False))


def test_after_a_failure_each_is_encoded_alone(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder.forget_queries()
    coming = expecting(encoder, ALIKE)

    def fail(*_: Any) -> NDArray[np.float32]:
        raise MemoryError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(encoder, "_run", fail)
        with pytest.raises(MemoryError, match="no room"):
            coming.encode(ALIKE[0])
    assert coming.encode(ALIKE[1]).shape == coming.encode(ALIKE[0]).shape == (encoder.dimension,)


def test_the_last_vectors_are_remembered() -> None:
    recent: Recent[NDArray[np.float32]] = Recent(3)
    vectors = {text: np.full(2, number, np.float32) for number, text in enumerate("abcd")}
    for text in "abc":
        recent.put(text, vectors[text])
    assert recent.get("a") is vectors["a"]
    recent.put("d", vectors["d"])
    assert Counter(text for text in "abcd" if recent.get(text) is not None) == Counter("acd")
    recent.clear()
    assert recent.get("a") is None
