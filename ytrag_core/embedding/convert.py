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


class _FloatProducts:
    """Emits products of floats; matrices are stored as float16."""

    gelu = "BiasGelu"

    def __init__(self, graph: OnnxGraph) -> None:
        self._graph = graph

    def multiply(
        self, states: str, name: str, weight: NDArray[Any], *, after_gelu: bool = False, twice: bool = False
    ) -> str:
        return self._graph.op("MatMul", states, self._graph.matrix(f"{name}.weight", weight.T))

    @staticmethod
    def effective(weight: NDArray[Any]) -> NDArray[np.float64]:
        return weight.astype(np.float16).astype(np.float64)

    @staticmethod
    def raised_by(weight: NDArray[Any]) -> NDArray[np.float64]:
        return np.zeros(len(weight))


class _Bert:
    """Emits the layers of one encoder into a graph.

    States are (batch, length, width) all the way: an operator that only changes a shape costs as much as a
    small product where one question is encoded. They are kept raised by the bias of the product that is
    added to them next, which so needs no operator of its own; the products that read them take the raise
    away again in their own biases. Not so in int8, where it changes what is rounded.
    """

    def __init__(self, weights: Weights, description: EncoderDescription, precision: Precision) -> None:
        words = [name for name in weights if name.endswith((_WORDS, WORD_NIBBLES))]
        if len(words) != 1:
            raise ModelError(f"{description.name} is not BERT-shaped: no single tensor is called ...{_WORDS}")
        self.prefix = words[0].removesuffix(_WORDS).removesuffix(WORD_NIBBLES)
        self.weights = weights
        self.description = description
        self.raises = precision == "fp32"
        self.graph = OnnxGraph()
        self.hidden = int(self.weight("embeddings.LayerNorm.weight").size)
        self.constants()
        self.products = self.integers() if precision == "int8" else _FloatProducts(self.graph)

    def weight(self, name: str) -> NDArray[Any]:
        try:
            return self.weights[self.prefix + name]
        except KeyError as error:
            raise ModelError(f"{self.description.name} has no tensor {self.prefix}{name}") from error

    def constants(self) -> None:
        self.graph.constant("zero", [0], np.int64)
        self.graph.constant("last_axis", [-1], np.int64)
        self.graph.constant("tiny", 1e-12, np.float32)
        self.graph.op("Shape", "input_ids", start=1, output="length")

    def integers(self) -> IntegerProducts:
        width = self.graph.constant("row_width", [1], np.int64)
        rows = self.graph.op("Concat", self.graph.op("Shape", "input_ids"), width, axis=0)
        return IntegerProducts(self.graph, rows)

    def multiply(self, states: str, name: str, *, after_gelu: bool = False, twice: bool = False) -> str:
        weight = self.weight(f"{name}.weight")
        return self.products.multiply(states, name, weight, after_gelu=after_gelu, twice=twice)

    def bias(self, name: str, raised: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the bias of a product whose states are raised."""
        lowered: NDArray[np.float64] = self.weight(f"{name}.bias") - (
            self.products.effective(self.weight(f"{name}.weight")) @ raised
        )
        return lowered

    def output_bias(self, name: str) -> NDArray[np.float64]:
        return self.weight(f"{name}.bias").astype(np.float64)

    def add(self, product: str, name: str, bias: NDArray[np.float64], states: str) -> str:
        """Add a product, and its bias where the states are not raised by it, to the states."""
        if not self.raises:
            product = self.graph.op("Add", product, self.graph.constant(f"{name}.bias", bias, np.float32))
        return self.graph.op("Add", product, states)

    def layer_norm(self, states: str, name: str, raised: NDArray[np.float64]) -> str:
        scale = self.graph.constant(f"{name}.weight", self.weight(f"{name}.weight"), np.float32)
        bias = self.graph.constant(f"{name}.bias", self.weight(f"{name}.bias") + raised, np.float32)
        epsilon = self.description.layer_norm_eps
        return self.graph.op("LayerNormalization", states, scale, bias, axis=-1, epsilon=epsilon)

    def words(self) -> str:
        if self.prefix + WORD_NIBBLES in self.weights:
            return packed_word_rows(self.graph, self.weight(WORD_NIBBLES), self.weight(WORD_SCALES))
        table = self.graph.constant("word_embeddings", self.weight(_WORDS), np.float16)
        return self.graph.op("Cast", self.graph.op("Gather", table, "input_ids"), to=TensorProto.FLOAT)

    def embed(self, raised: NDArray[np.float64]) -> str:
        graph = self.graph
        token_type = self.weight("embeddings.token_type_embeddings.weight")[0]
        positions = self.weight("embeddings.position_embeddings.weight") + token_type
        table = graph.matrix("position_embeddings", positions[: self.description.max_tokens])
        places = graph.op("Slice", table, "zero", "length", "zero")
        return self.layer_norm(graph.op("Add", self.words(), places), "embeddings.LayerNorm", raised)

    def attend(self, states: str, root: str, raised: NDArray[np.float64]) -> str:
        """Return the contexts of the tokens; all of them are seen, as there is no padding."""
        graph = self.graph
        names = [f"{root}.attention.self.{part}" for part in ("query", "key", "value")]
        parts = [self.multiply(states, name, twice=name == names[-1]) for name in names]
        biases = np.concatenate([self.bias(name, raised) for name in names])
        bias = graph.constant(f"{root}.attention.self.bias", biases, np.float32)
        return graph.fused("MultiHeadAttention", *parts, bias, num_heads=self.description.n_heads)

    def layer(self, states: str, layer: int, raised: NDArray[np.float64], after: NDArray[np.float64]) -> str:
        """Return the states behind a layer, raised by `after`."""
        graph, root = self.graph, f"encoder.layer.{layer}"
        output, inner = f"{root}.output.dense", f"{root}.intermediate.dense"
        attention = f"{root}.attention.output.dense"
        attended = self.multiply(self.attend(states, root, raised), attention)
        bias_after = self.output_bias(output) - self.products.raised_by(self.weight(f"{output}.weight"))
        between = bias_after if self.raises else np.zeros(self.hidden)
        summed = self.add(attended, attention, self.output_bias(attention), states)
        states = self.layer_norm(summed, f"{root}.attention.output.LayerNorm", between)
        bias = graph.constant(f"{inner}.bias", self.bias(inner, between), np.float32)
        wide = graph.fused(self.products.gelu, self.multiply(states, inner), bias)
        narrow = self.multiply(wide, output, after_gelu=True)
        summed = self.add(narrow, output, bias_after, states)
        return self.layer_norm(summed, f"{root}.output.LayerNorm", after)

    def pool(self, states: str) -> str:
        graph = self.graph
        if self.description.pooling == "cls":
            pooled = graph.op("Gather", states, graph.constant("first", 0, np.int64), axis=1)
        else:
            # A product, and not ReduceMean, whose order of adding depends on the number of texts. Nothing
            # has to be divided by the number of tokens: the length becomes 1 anyway.
            ones = graph.constant("ones", np.ones((1, self.description.max_tokens)), np.float32)
            axis = graph.constant("token_axis", [1], np.int64)
            row = graph.op("Slice", ones, "zero", "length", axis)
            pooled = graph.op("Squeeze", graph.op("MatMul", row, states), axis)
        norm = graph.op("ReduceL2", pooled, "last_axis", keepdims=1)
        return graph.op("Div", pooled, graph.op("Max", norm, "tiny"), output="sentence_vectors")

    def n_layers(self) -> int:
        root = f"{self.prefix}encoder.layer."
        return 1 + max(int(name[len(root) :].split(".")[0]) for name in self.weights if name.startswith(root))

    def emit(self) -> onnx.ModelProto:
        n_layers = self.n_layers()
        roots = [f"encoder.layer.{layer}.attention.output.dense" for layer in range(n_layers)]
        nothing = np.zeros(self.hidden)
        raises = [*(self.output_bias(root) if self.raises else nothing for root in roots), nothing]
        states = self.embed(raises[0])
        for layer in range(n_layers):
            states = self.layer(states, layer, raises[layer], raises[layer + 1])
        self.pool(states)
        return self.graph.model(self.description.name, ["input_ids"], "sentence_vectors", self.hidden)


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
        The ONNX model, the same bytes for the same input. Input `input_ids`, (batch, length) int64, texts of
        one length without padding, for which there is no mask; output `sentence_vectors`,
        (batch, dimension) float32, unit-norm: the mean of the token vectors, or the first of them. In fp32
        matrices are stored as float16 and computed in float32; int8 is described in
        `ytrag_core.embedding.quantize`.

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
