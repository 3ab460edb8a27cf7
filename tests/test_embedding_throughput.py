"""Many texts: batches of one length, windows, back-pressure, failures, one core, no runtime."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tiny_encoder import MAX_TOKENS, WORDS, forward, tiny_weights, write_published
from ytrag_core.embedding import batching, inference
from ytrag_core.embedding.batching import batches_of, load_tokenizer, token_ids
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from tokenizers import Tokenizer


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return load_tiny(tmp_path_factory.mktemp("tiny"))


def load_tiny(folder: Path, n_threads: int = 2) -> Encoder:
    description = write_published(folder / "published", tiny_weights())
    return Encoder.load(
        folder / "published",
        description=description,
        precision="fp32",
        n_threads=n_threads,
        cache=folder / "cache",
    )


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    write_published(folder, tiny_weights())
    return load_tokenizer(folder / "tokenizer.json", MAX_TOKENS)


def some_texts(n: int) -> list[str]:
    rng = np.random.default_rng(n)
    return [" ".join(rng.choice(WORDS[4:], int(length))) for length in rng.integers(0, 15, n)]


@given(st.lists(st.integers(0, 14).map(lambda n: "a " * n), max_size=60))
def test_a_batch_is_of_one_length_and_every_text_is_in_one(tokenizer: Tokenizer, texts: list[str]) -> None:
    rows = []
    for batch in batches_of(tokenizer, texts, ""):
        rows += batch.rows.tolist()
        assert batch.ids.dtype == np.int64
        for row, ids in zip(batch.rows.tolist(), batch.ids.tolist(), strict=True):
            assert ids == token_ids(tokenizer, texts[row])
    assert sorted(rows) == list(range(len(texts)))


def test_batches_are_small_and_the_longest_come_first(tokenizer: Tokenizer) -> None:
    texts = ["a " * 8] * 300 + ["b"] * 500
    shapes = [batch.ids.shape for batch in batches_of(tokenizer, texts, "")]
    assert all(n * length <= 512 for n, length in shapes)
    assert shapes[0][1] == 10
    assert len(shapes) == 300 // 51 + 1 + 500 // 170 + 1


def test_long_texts_go_in_smaller_batches(encoder: Encoder) -> None:
    cutting = load_tokenizer(encoder._files.tokenizer, 256)
    shapes = [batch.ids.shape for batch in batches_of(cutting, ["river " * 98] * 7 + ["town " * 999] * 2, "")]
    assert shapes == [(1, 256), (1, 256), (1, 100), (2, 100), (2, 100), (2, 100)]


def test_texts_beyond_one_window_and_one_block_have_their_vectors(
    tiny: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = some_texts(150)
    wanted = tiny.encode(texts)
    monkeypatch.setattr(batching, "WINDOW_TEXTS", 64)
    monkeypatch.setattr(batching, "_BLOCK_TEXTS", 7)
    monkeypatch.setattr(batching, "_BLOCK_CHARACTERS", 50)
    np.testing.assert_allclose(tiny.encode(texts), wanted, atol=1e-6)
    for text, vector in zip(texts[:9], wanted, strict=False):
        ids = tiny.tokenizer.encode(text).ids[: MAX_TOKENS - 1]
        np.testing.assert_allclose(
            vector, forward(tiny_weights(), [*ids, 3] if ids[-1] != 3 else ids), atol=2e-6
        )


class Watched(Sequence[str]):
    """A million texts that are made when they are asked for."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.furthest = 0

    def __len__(self) -> int:
        return self.n

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice) -> list[str]: ...

    def __getitem__(self, item: int | slice) -> str | list[str]:
        if isinstance(item, int):
            if not 0 <= item < self.n:
                raise IndexError(item)
            return "a river"
        start, stop, _ = item.indices(self.n)
        self.furthest = max(self.furthest, stop)
        return ["a river"] * (stop - start)


def test_only_one_window_is_looked_at_ahead(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "WINDOW_TEXTS", 2000)
    texts = Watched(40_000)
    ahead: list[int] = []
    tiny.encode(texts, progress=lambda done, _: ahead.append(texts.furthest - done))
    assert texts.furthest == 40_000
    n_waiting = 2 * 32 * (512 // 4)
    assert max(ahead) <= n_waiting + 2 * 2000


def test_a_failed_batch_ends_it_all_and_is_told(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr("ytrag_core.embedding.encoder.run_session", fail)
    with pytest.raises(MemoryError, match="no room"):
        tiny.encode(some_texts(3000))


def test_an_interrupted_progress_ends_it(tiny: Encoder) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tiny.encode(some_texts(2000), progress=stop)


def test_one_core_gives_the_same_bits(tiny: Encoder, tmp_path: Path) -> None:
    texts = some_texts(400)
    one = load_tiny(tmp_path, n_threads=1)
    np.testing.assert_array_equal(one.encode(texts), tiny.encode(texts))
    np.testing.assert_array_equal(one.encode_query(texts[0]), tiny.encode_query(texts[0]))


def test_warm_up_loads_whatever_a_question_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = load_tiny(tmp_path)
    tiny.warm_up()

    def fail(*_: object) -> None:
        raise AssertionError("a session was opened")

    monkeypatch.setattr("ytrag_core.embedding.encoder.open_session", fail)
    tiny.encode_query("a river")
    tiny.encode_query("a river in the town " * 9)
    tiny.encode(["a"])


def test_a_text_without_a_token_has_no_direction(tiny: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = load_tokenizer(tiny._files.tokenizer, MAX_TOKENS)
    bare.post_processor = None
    monkeypatch.setattr(tiny, "_cutting_tokenizer", bare)
    vectors = tiny.encode(["", "a river"])
    assert not vectors[0].any()
    np.testing.assert_allclose(np.linalg.norm(vectors[1]), 1, atol=1e-6)
    assert not tiny.encode_query("").any()


def test_without_the_runtime_the_error_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = load_tiny(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    inference._runtime.cache_clear()
    try:
        with pytest.raises(ModelError, match="pip install onnxruntime"):
            tiny.encode_query("a")
        with pytest.raises(ModelError, match="cannot be imported"):
            tiny.encode(["a"])
    finally:
        inference._runtime.cache_clear()


def test_texts_of_a_million_characters_are_tokenised_block_by_block(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    real = batching._blocks

    def watched(texts: Sequence[str], prefix: str) -> list[list[str]]:
        blocks = list(real(texts, prefix))
        sizes.extend(sum(map(len, block)) for block in blocks)
        return blocks

    monkeypatch.setattr(batching, "_blocks", watched)
    texts = ["town " * 200_000] * 100
    assert sum(len(batch.rows) for batch in batches_of(tokenizer, texts, "in ")) == 100
    assert max(sizes) < (1 << 20) + 32768
    assert len(sizes) == 4
