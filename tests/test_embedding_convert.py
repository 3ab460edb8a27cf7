"""Conversion of BERT-shaped weights, against the plain forward pass of a very small one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from tests.tiny_encoder import (
    LAYERS,
    MAX_TOKENS,
    WORDS,
    forward,
    tiny_weights,
    write_published,
    write_safetensors,
)
from ytrag_core.embedding.convert import convert_to_onnx, read_safetensors
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.precision import Precision


def run(model: bytes, ids: list[list[int]]) -> NDArray[np.float32]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs: list[Any] = list(session.run(None, {"input_ids": np.array(ids, np.int64)}))
    vectors: NDArray[np.float32] = outputs[0]
    return vectors


@pytest.mark.parametrize("seed", [0, 7])
def test_the_graph_computes_the_architecture(tmp_path: Path, seed: int) -> None:
    weights = tiny_weights(seed)
    description = write_published(tmp_path, weights)
    model = convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, "fp32")
    longest = [token % len(WORDS) for token in range(2, 2 + MAX_TOKENS)]
    for texts in ([[2, 5, 6, 7, 11, 3], [2, 9, 4, 4, 8, 3]], [[2, 9, 3]], [[2]], [longest, longest[::-1]]):
        for vector, ids in zip(run(model, texts), texts, strict=True):
            np.testing.assert_allclose(vector, forward(weights, ids), atol=2e-6)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_text_has_the_same_bits_alone_and_among_others(tmp_path: Path, precision: Precision) -> None:
    description = write_published(tmp_path, tiny_weights())
    model = convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, precision)
    for length in (1, 2, 7, MAX_TOKENS):
        texts = np.random.default_rng(length).integers(0, len(WORDS), (9, length)).tolist()
        together = run(model, texts)
        for text, vector in zip(texts, together, strict=True):
            np.testing.assert_array_equal(run(model, [text])[0], vector)


@pytest.mark.parametrize(("precision", "a_layer", "around"), [("fp32", 12, 13), ("int8", 43, 17)])
def test_no_operators_creep_in(tmp_path: Path, precision: Precision, a_layer: int, around: int) -> None:
    description = write_published(tmp_path, tiny_weights())
    model = convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, precision)
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    kinds = [node.op_type for node in onnx.load(str(tmp_path / "optimised.onnx")).graph.node]
    assert len(kinds) <= LAYERS * a_layer + around, sorted(kinds)
    assert not {"Reshape", "Transpose", "Unsqueeze", "Softmax"} & set(kinds)
    assert [value.name for value in onnx.load_from_string(model).graph.input] == ["input_ids"]


def test_the_first_token_is_a_texts_vector_where_that_is_asked_for(tmp_path: Path) -> None:
    description = replace(write_published(tmp_path, tiny_weights()), pooling="cls")
    model = convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, "fp32")
    text = [2, 5, 6, 7, 11, 3]
    first = run(model, [text])[0]
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert 1e-3 < np.abs(first - forward(tiny_weights(), text)).max() < 0.1


def test_a_model_prefix_and_the_token_type_are_taken_into_account(tmp_path: Path) -> None:
    weights = tiny_weights(1)
    description = write_published(tmp_path, weights)
    plain = run(
        convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, "fp32"),
        [[2, 4, 3]],
    )
    moved = dict(weights)
    moved["embeddings.token_type_embeddings.weight"] = np.ones_like(
        moved["embeddings.token_type_embeddings.weight"]
    )
    moved["embeddings.position_embeddings.weight"] = moved["embeddings.position_embeddings.weight"] - 1
    write_safetensors(tmp_path / "bert.safetensors", moved, prefix="bert.")
    prefixed = run(
        convert_to_onnx(read_safetensors(tmp_path / "bert.safetensors"), description, "fp32"),
        [[2, 4, 3]],
    )
    np.testing.assert_allclose(plain, prefixed, atol=1e-5)


def test_the_same_weights_give_the_same_bytes(tmp_path: Path) -> None:
    description = write_published(tmp_path, tiny_weights())
    path = tmp_path / "model.safetensors"
    assert convert_to_onnx(read_safetensors(path), description, "fp32") == convert_to_onnx(
        read_safetensors(path), description, "fp32"
    )


def test_what_is_not_such_an_encoder_is_refused(tmp_path: Path) -> None:
    weights = tiny_weights()
    description = write_published(tmp_path, weights)
    path = tmp_path / "model.safetensors"
    with pytest.raises(ModelError, match="8 wide, its description says 16"):
        convert_to_onnx(read_safetensors(path), replace(description, dimension=16), "fp32")
    with pytest.raises(ModelError, match="the pooling 'max'; mean and cls are known"):
        convert_to_onnx(read_safetensors(path), replace(description, pooling="max"), "fp32")  # type: ignore[arg-type]
    write_safetensors(path, {name: w for name, w in weights.items() if "1.output.dense.bias" not in name})
    with pytest.raises(ModelError, match=r"no tensor encoder\.layer\.1\.output\.dense\.bias"):
        convert_to_onnx(read_safetensors(path), description, "fp32")
    write_safetensors(path, {"head.weight": weights["embeddings.LayerNorm.bias"]})
    with pytest.raises(ModelError, match="not BERT-shaped"):
        convert_to_onnx(read_safetensors(path), description, "fp32")


def test_a_damaged_weights_file_is_refused(tmp_path: Path) -> None:
    write_published(tmp_path, tiny_weights())
    path = tmp_path / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(ModelError, match="cannot be read"):
        read_safetensors(path)
    path.write_bytes(whole[:50])
    with pytest.raises(ModelError, match="truncated"):
        read_safetensors(path)
    path.write_bytes(b"")
    with pytest.raises(ModelError, match="truncated"):
        read_safetensors(path)
    path.write_bytes(b"\x04" + bytes(7) + b"{{{{" + bytes(64))
    with pytest.raises(ModelError, match="not JSON"):
        read_safetensors(path)
