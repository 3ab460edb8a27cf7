"""Conversion of BERT-shaped weights, against the plain forward pass of a very small one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest

from tests.tiny_encoder import MAX_TOKENS, WORDS, forward, tiny_weights, write_published, write_safetensors
from ytrag_core.embedding.convert import convert_to_onnx, read_safetensors
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def run(model: bytes, ids: list[list[int]], mask: list[list[int]]) -> NDArray[np.float32]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs: list[Any] = list(
        session.run(None, {"input_ids": np.array(ids, np.int64), "attention_mask": np.array(mask, np.int64)})
    )
    vectors: NDArray[np.float32] = outputs[0]
    return vectors


def test_the_graph_computes_the_architecture_with_and_without_padding(tmp_path: Path) -> None:
    weights = tiny_weights()
    description = write_published(tmp_path, weights)
    model = convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, "fp32")
    long = [2, 5, 6, 7, 11, 3]
    short = [2, 9, 3]
    longest = [2, *range(4, 2 + MAX_TOKENS), 3][:MAX_TOKENS]
    vectors = run(model, [long, [*short, 0, 0, 0]], [[1] * 6, [1, 1, 1, 0, 0, 0]])
    np.testing.assert_allclose(vectors[0], forward(weights, long), atol=2e-6)
    np.testing.assert_allclose(vectors[1], forward(weights, short), atol=2e-6)
    ids = [token % len(WORDS) for token in longest]
    np.testing.assert_allclose(run(model, [ids], [[1] * MAX_TOKENS])[0], forward(weights, ids), atol=2e-6)


def test_a_model_prefix_and_the_token_type_are_taken_into_account(tmp_path: Path) -> None:
    weights = tiny_weights(1)
    description = write_published(tmp_path, weights)
    plain = run(
        convert_to_onnx(read_safetensors(tmp_path / "model.safetensors"), description, "fp32"),
        [[2, 4, 3]],
        [[1, 1, 1]],
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
        [[1, 1, 1]],
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
