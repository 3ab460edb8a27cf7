"""The real encoder: reference vectors, order, batching, odd texts, threads."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.tiny_encoder import forward, tiny_weights, write_published
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFERENCE = Path(__file__).parent / "golden" / "minilm_reference.json"


@pytest.fixture(scope="module")
def fp32() -> Encoder:
    return Encoder.load(precision="fp32")


@pytest.fixture(scope="module")
def int8() -> Encoder:
    return Encoder.load(precision="int8")


@pytest.fixture(params=["fp32", "int8"])
def either(request: pytest.FixtureRequest) -> Encoder:
    chosen: Encoder = request.getfixturevalue(request.param)
    return chosen


def reference() -> tuple[list[str], NDArray[np.float32]]:
    rows: list[dict[str, Any]] = json.loads(REFERENCE.read_text(encoding="utf-8"))["rows"]
    return [row["text"] for row in rows], np.array([row["vector"] for row in rows], np.float32)


def test_vectors_agree_with_the_reference(fp32: Encoder) -> None:
    texts, wanted = reference()
    vectors = fp32.encode(texts)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = (vectors * wanted).sum(axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.min() >= 0.99999, texts[int(cosines.argmin())]


def test_vectors_of_integers_are_near_the_reference(int8: Encoder) -> None:
    texts, wanted = reference()
    vectors = int8.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    cosines = (vectors * wanted).sum(axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosines.mean() >= 0.994
    assert cosines.min() >= 0.97, texts[int(cosines.argmin())]


def test_vectors_of_integers_are_near_those_of_floats(
    fp32: Encoder, int8: Encoder, shared_data: Path
) -> None:
    records = (shared_data / "musique_train" / "openie.jsonl").read_text(encoding="utf-8").splitlines()
    triples = [triple for record in records[:60] for triple in json.loads(record)["triples"]]
    corpus = (shared_data / "musique_train" / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    texts = sorted({" ".join(triple) for triple in triples} | {triple[0] for triple in triples})
    texts += [json.loads(record)["text"] for record in corpus[:20]]
    cosines = (fp32.encode(texts) * int8.encode(texts)).sum(axis=1)
    assert len(texts) > 300
    assert cosines.mean() >= 0.996


def test_precisions_are_never_mixed(fp32: Encoder, int8: Encoder) -> None:
    assert (fp32.precision, int8.precision) == ("fp32", "int8")
    assert fp32.fingerprint == "all-MiniLM-L6-v2:fp32-1:4f06c27ced5751ec"
    assert int8.fingerprint.startswith("all-MiniLM-L6-v2:int8-3:")
    assert fp32.note is None


def test_a_query_a_single_text_and_a_batch_agree(either: Encoder) -> None:
    texts, _ = reference()
    together = either.encode(texts)
    for text, vector in zip(texts, together, strict=True):
        assert either.encode([text])[0] @ vector >= 0.99999, text
        fits = len(either.tokenizer.encode(text).ids) <= either.description.max_tokens
        assert not fits or either.encode_query(text) @ vector >= 0.99999, text
        if either.precision == "fp32":
            np.testing.assert_allclose(either.encode([text])[0], vector, atol=1e-6)
            if fits:
                np.testing.assert_allclose(either.encode_query(text), vector, atol=1e-6)


def test_the_same_texts_give_the_same_bits_with_any_number_of_threads(either: Encoder) -> None:
    texts = [f"{word} number {i}" for i in range(60) for word in ("a river", "the old town in the hills")]
    first = either.encode(texts)
    other = Encoder.load(precision=either.precision, n_threads=1)
    np.testing.assert_array_equal(first, either.encode(texts))
    np.testing.assert_array_equal(first, other.encode(texts))
    assert other.fingerprint == either.fingerprint


def test_neighbours_do_not_change_a_vector(either: Encoder) -> None:
    texts, _ = reference()
    alone = either.encode(texts)
    among = either.encode([*texts, *(f"{text} and a river" for text in texts)])[: len(texts)]
    assert (alone * among).sum(axis=1).min() >= 0.99999


def test_order_is_kept_and_progress_reaches_the_end(encoder: Encoder) -> None:
    texts = ["long " * 40, "short", "of a middling length", "short", ""]
    calls: list[tuple[int, int]] = []
    vectors = encoder.encode(texts, progress=lambda done, total: calls.append((done, total)))
    np.testing.assert_array_equal(vectors[1], vectors[3])
    assert vectors[0] @ encoder.encode_query(texts[0]) > 0.9999
    assert calls[-1] == (5, 5)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_nothing_in_nothing_out(encoder: Encoder) -> None:
    assert encoder.encode([]).shape == (0, encoder.dimension)


def test_odd_texts_have_vectors(encoder: Encoder) -> None:
    texts = ["lone surrogate \ud800 here", "nul \0 inside", "word " * 200_000, "\u200b", "🏴‍☠️" * 50]
    vectors = encoder.encode(texts)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_what_is_no_text_is_refused(encoder: Encoder) -> None:
    with pytest.raises(TypeError, match="put it into a list"):
        encoder.encode("one string")
    with pytest.raises(TypeError, match="text 1 is int"):
        encoder.encode(["a", 3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="NoneType"):
        encoder.encode_query(None)  # type: ignore[arg-type]


def test_query_vectors_are_remembered_and_cannot_be_written(encoder: Encoder) -> None:
    first = encoder.encode_query("which river?")
    assert encoder.encode_query("which river?") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 1


def test_many_threads_can_ask_at_once(encoder: Encoder) -> None:
    texts = [f"question number {i}" for i in range(24)]
    wanted = encoder.encode(texts)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(encoder.encode_query, texts))
    np.testing.assert_allclose(np.array(found), wanted, atol=2e-6)


def test_the_tokenizer_neither_pads_nor_cuts(encoder: Encoder) -> None:
    assert len(encoder.tokenizer.encode("one").ids) == 3
    assert len(encoder.tokenizer.encode("one " * 1000).ids) == 1002


def test_texts_are_cut_at_the_longest_input(encoder: Encoder) -> None:
    long = "river " * 254
    np.testing.assert_allclose(encoder.encode([long])[0], encoder.encode([long + "town " * 50])[0], atol=2e-6)


def test_a_damaged_model_is_an_error(tmp_path: Path) -> None:
    description = write_published(tmp_path / "published", tiny_weights())
    encoder = Encoder.load(tmp_path / "published", description=description, cache=tmp_path / "cache")
    model = next((tmp_path / "cache").rglob("model.onnx"))
    model.write_bytes(bytes(model.stat().st_size))
    with pytest.raises(ModelError, match="cannot be loaded"):
        encoder.encode_query("a")


def test_prefixes_are_put_before_texts(tmp_path: Path) -> None:
    plain = write_published(tmp_path / "published", tiny_weights())
    description = replace(plain, query_prefix="the river ", passage_prefix="a town ")
    encoder = Encoder.load(
        tmp_path / "published", description=description, precision="fp32", cache=tmp_path / "cache"
    )
    for vector, text in (
        (encoder.encode_query("b c"), "the river b c"),
        (encoder.encode(["d"])[0], "a town d"),
    ):
        ids = encoder.tokenizer.encode(text).ids
        np.testing.assert_allclose(vector, forward(tiny_weights(), ids), atol=2e-6)
    unprefixed = Encoder.load(
        tmp_path / "published", description=plain, precision="fp32", cache=tmp_path / "cache"
    )
    assert unprefixed.fingerprint != encoder.fingerprint


def test_loading_imports_neither_onnx_nor_the_hubs_client(encoder: Encoder) -> None:
    del encoder
    program = (
        "import sys; from ytrag_core.embedding.encoder import Encoder; Encoder.load().encode_query('a'); "
        "print([name for name in ('onnx', 'huggingface_hub', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_long_question_is_read_to_its_end(encoder: Encoder) -> None:
    river = "river " * 600
    alone, ended = encoder.encode_query(river), encoder.encode_query(river + "penguin penguin penguin")
    assert not np.array_equal(alone, ended)
    assert ended.shape == (encoder.dimension,)
    assert not ended.flags.writeable
    np.testing.assert_allclose(np.linalg.norm(ended), 1.0, atol=1e-5)


def test_questions_together_are_what_each_is_alone(fp32: Encoder) -> None:
    questions = ["Who?", "river " * 600 + "penguin", "", "Which town lies at the river?", "谁？"]
    together = fp32.encode_queries(questions)
    for question, vector in zip(questions, together, strict=True):
        np.testing.assert_allclose(fp32.encode_query(question), vector, atol=1e-6)
    assert fp32.encode_queries([]).shape == (0, fp32.dimension)
