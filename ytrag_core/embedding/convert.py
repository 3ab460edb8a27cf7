"""BERT-shaped safetensors weights to one ONNX graph that ends in a unit-norm sentence vector."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from ytrag_core.embedding.onnx_graph import OnnxGraph
from ytrag_core.embedding.quantize import IntegerProducts
from ytrag_core.embedding.word_table import WORD_NIBBLES, WORD_SCALES, packed_word_rows
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.precision import Precision

__all__ = ["Weights", "convert_to_onnx", "read_safetensors"]

Weights = dict[str, NDArray[Any]]
"""Tensors by the names that BERT's published weights have, with or without a prefix before all of them."""

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_WORDS = "embeddings.word_embeddings.weight"
_MASKED = -1e9
"""Added to the attention score of a padding token; large enough that its weight is exactly zero."""


def read_safetensors(path: Path) -> Weights:
    """Map the tensors of a safetensors file into memory.

    Parameters
    ----------
    path
        The file: an 8-byte little-endian header length, a JSON header, raw tensors.

    Returns
    -------
    dict of str to ndarray
        Tensors by name, read-only views of the mapped file.

    Raises
    ------
    ModelError
        If the file is not of that form.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        header_bytes = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else size
        if header_bytes + 8 > size:
            raise ModelError(f"{path} is not a safetensors file, or is truncated: fetch it again")
        try:
            header = json.loads(file.read(header_bytes))
        except ValueError as error:
            raise ModelError(f"{path} has a safetensors header that is not JSON: fetch it again") from error
    data = np.memmap(path, dtype=np.uint8, mode="r", offset=8 + header_bytes)
    tensors: Weights = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        dtype = _DTYPES.get(entry["dtype"])
        start, stop = entry["data_offsets"]
        if dtype is None or stop > data.size:
            raise ModelError(f"{path}: tensor {name} of type {entry['dtype']} cannot be read")
        tensors[name] = data[start:stop].view(dtype).reshape(entry["shape"])
    return tensors


class _Bert:
    """Emits the layers of one encoder into a graph."""

    def __init__(self, weights: Weights, description: EncoderDescription, precision: Precision) -> None:
        words = [name for name in weights if name.endswith((_WORDS, WORD_NIBBLES))]
        if len(words) != 1:
            raise ModelError(f"{description.name} is not BERT-shaped: no single tensor is called ...{_WORDS}")
        self.prefix = words[0].removesuffix(_WORDS).removesuffix(WORD_NIBBLES)
        self.weights = weights
        self.description = description
        self.graph = OnnxGraph()
        self.integers = IntegerProducts(self.graph) if precision == "int8" else None
        self.hidden = int(self.weight("embeddings.LayerNorm.weight").size)

    def weight(self, name: str) -> NDArray[Any]:
        try:
            return self.weights[self.prefix + name]
        except KeyError as error:
            raise ModelError(f"{self.description.name} has no tensor {self.prefix}{name}") from error

    def linear(self, states: str, name: str, *, after_gelu: bool = False) -> str:
        weight, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        if self.integers is not None:
            return self.integers.linear(states, name, weight, bias, after_gelu=after_gelu)
        product = self.graph.op("MatMul", states, self.graph.matrix(f"{name}.weight", weight.T))
        return self.graph.op("Add", product, self.graph.constant(f"{name}.bias", bias, np.float32))

    def layer_norm(self, states: str, name: str) -> str:
        scale = self.graph.constant(f"{name}.weight", self.weight(f"{name}.weight"), np.float32)
        bias = self.graph.constant(f"{name}.bias", self.weight(f"{name}.bias"), np.float32)
        epsilon = self.description.layer_norm_eps
        return self.graph.op("LayerNormalization", states, scale, bias, axis=-1, epsilon=epsilon)

    def constants(self) -> None:
        heads = self.description.n_heads
        width = self.hidden // heads
        self.graph.constant("heads", [heads, width], np.int64)
        self.graph.constant("hidden", [self.hidden], np.int64)
        self.graph.constant("tokens", [-1, self.hidden], np.int64)
        self.graph.constant("query_scale", 1 / np.sqrt(width), np.float32)
        self.graph.constant("zero", [0], np.int64)
        self.graph.constant("one", [1], np.int64)
        self.graph.constant("two", [2], np.int64)
        self.graph.constant("first_axes", [1, 2], np.int64)
        self.graph.constant("last_axis", [-1], np.int64)
        self.graph.constant("float_one", 1.0, np.float32)
        self.graph.constant("masked", _MASKED, np.float32)
        self.graph.constant("tiny", 1e-12, np.float32)

    def words(self) -> str:
        if self.prefix + WORD_NIBBLES in self.weights:
            return packed_word_rows(self.graph, self.weight(WORD_NIBBLES), self.weight(WORD_SCALES))
        table = self.graph.constant("word_embeddings", self.weight(_WORDS), np.float16)
        return self.graph.op("Cast", self.graph.op("Gather", table, "input_ids"), to=TensorProto.FLOAT)

    def embed(self) -> str:
        graph = self.graph
        words = self.words()
        token_type = self.weight("embeddings.token_type_embeddings.weight")[0]
        positions = self.weight("embeddings.position_embeddings.weight") + token_type
        table = graph.matrix("position_embeddings", positions[: self.description.max_tokens])
        graph.op("Shape", "input_ids", output="shape")
        graph.op("Concat", "shape", "heads", axis=0, output="split_heads")
        length = graph.op("Slice", "shape", "one", "two")
        places = graph.op("Slice", table, "zero", length, "zero")
        states = graph.op("Reshape", graph.op("Add", words, places), "tokens")
        return self.layer_norm(states, "embeddings.LayerNorm")

    def attention_bias(self) -> str:
        mask = self.graph.op("Unsqueeze", "float_mask", "first_axes")
        return self.graph.op("Mul", self.graph.op("Sub", "float_one", mask), "masked")

    def heads(self, states: str, name: str, order: list[int]) -> str:
        split = self.graph.op("Reshape", self.linear(states, name), "split_heads")
        return self.graph.op("Transpose", split, perm=order)

    def layer(self, states: str, layer: int, bias: str) -> str:
        graph, root = self.graph, f"encoder.layer.{layer}"
        query = self.heads(states, f"{root}.attention.self.query", [0, 2, 1, 3])
        key = self.heads(states, f"{root}.attention.self.key", [0, 2, 3, 1])
        value = self.heads(states, f"{root}.attention.self.value", [0, 2, 1, 3])
        scores = graph.op("MatMul", graph.op("Mul", query, "query_scale"), key)
        attention = graph.op("Softmax", graph.op("Add", scores, bias), axis=-1)
        context = graph.op("Transpose", graph.op("MatMul", attention, value), perm=[0, 2, 1, 3])
        context = self.linear(graph.op("Reshape", context, "tokens"), f"{root}.attention.output.dense")
        states = self.layer_norm(graph.op("Add", context, states), f"{root}.attention.output.LayerNorm")
        inner = graph.op("Gelu", self.linear(states, f"{root}.intermediate.dense"))
        inner = self.linear(inner, f"{root}.output.dense", after_gelu=True)
        return self.layer_norm(graph.op("Add", inner, states), f"{root}.output.LayerNorm")

    def pool(self, states: str) -> str:
        graph = self.graph
        states = graph.op("Reshape", states, graph.op("Concat", "shape", "hidden", axis=0))
        if self.description.pooling == "cls":
            pooled = graph.op("Gather", states, graph.constant("first", 0, np.int64), axis=1)
        else:
            row = graph.op("Unsqueeze", "float_mask", "one")
            total = graph.op("Squeeze", graph.op("MatMul", row, states), "one")
            n_tokens = graph.op("ReduceSum", "float_mask", "last_axis", keepdims=1)
            pooled = graph.op("Div", total, n_tokens)
        norm = graph.op("ReduceL2", pooled, "last_axis", keepdims=1)
        return graph.op("Div", pooled, graph.op("Max", norm, "tiny"), output="sentence_vectors")

    def n_layers(self) -> int:
        root = f"{self.prefix}encoder.layer."
        return 1 + max(int(name[len(root) :].split(".")[0]) for name in self.weights if name.startswith(root))

    def emit(self) -> onnx.ModelProto:
        self.constants()
        self.graph.op("Cast", "attention_mask", output="float_mask", to=TensorProto.FLOAT)
        bias = self.attention_bias()
        states = self.embed()
        for layer in range(self.n_layers()):
            states = self.layer(states, layer, bias)
        self.pool(states)
        return self.graph.model(
            self.description.name, ["input_ids", "attention_mask"], "sentence_vectors", self.hidden
        )


def convert_to_onnx(weights: Weights, description: EncoderDescription, precision: Precision) -> bytes:
    """Convert a BERT-shaped encoder to ONNX.

    Parameters
    ----------
    weights
        Its tensors, for example of `read_safetensors`.
    description
        Gives the number of heads, the epsilon, the longest input and the expected width.
    precision
        `fp32` or `int8`.

    Returns
    -------
    bytes
        The ONNX model, the same bytes for the same input. Inputs `input_ids` and `attention_mask`,
        (batch, length) int64; output `sentence_vectors`, (batch, dimension) float32, unit-norm: the mean of
        the token vectors under the mask, or the first of them. In fp32 matrices are stored as float16 and
        computed in float32; int8 is described in `ytrag_core.embedding.quantize`.

    Raises
    ------
    ModelError
        If the weights are not of that shape.
    """
    if description.pooling not in ("mean", "cls"):
        raise ModelError(
            f"{description.name} asks for the pooling {description.pooling!r}; mean and cls are known"
        )
    bert = _Bert(weights, description, precision)
    if bert.hidden != description.dimension:
        raise ModelError(
            f"{description.name} is {bert.hidden} wide, its description says {description.dimension}"
        )
    model: onnx.ModelProto = bert.emit()
    onnx.checker.check_model(model)
    serialised: bytes = model.SerializeToString(deterministic=True)
    return serialised
