"""BERT-shaped safetensors weights to one ONNX graph that ends in a unit-norm sentence vector."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["convert_to_onnx", "read_safetensors"]

Weights = dict[str, NDArray[Any]]

_DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}
_WORDS = "embeddings.word_embeddings.weight"
_OPSET = 20
_IR_VERSION = 9
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


class _Graph:
    """Collects nodes and initialisers; every method returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.initialisers: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, name: str, value: Any, dtype: type[np.generic]) -> str:
        array = np.asarray(value, dtype=dtype, order="C")
        self.initialisers.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self, name: str, value: NDArray[Any]) -> str:
        """Store a matrix as float16; the runtime folds the cast to float32 when it loads the graph."""
        return self.op("Cast", self.constant(name, value, np.float16), to=TensorProto.FLOAT)

    def linear(self, states: str, name: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        product = self.op("MatMul", states, self.matrix(f"{name}.weight", weight.T))
        return self.op("Add", product, self.constant(f"{name}.bias", bias, np.float32))


class _Bert:
    """Emits the layers of one encoder into a graph."""

    def __init__(self, weights: Weights, description: EncoderDescription) -> None:
        words = [name for name in weights if name.endswith(_WORDS)]
        if len(words) != 1:
            raise ModelError(f"{description.name} is not BERT-shaped: no single tensor is called ...{_WORDS}")
        self.prefix = words[0][: -len(_WORDS)]
        self.weights = weights
        self.description = description
        self.graph = _Graph()
        self.hidden = int(weights[words[0]].shape[1])

    def weight(self, name: str) -> NDArray[Any]:
        try:
            return self.weights[self.prefix + name]
        except KeyError as error:
            raise ModelError(f"{self.description.name} has no tensor {self.prefix}{name}") from error

    def linear(self, states: str, name: str) -> str:
        return self.graph.linear(states, name, self.weight(f"{name}.weight"), self.weight(f"{name}.bias"))

    def layer_norm(self, states: str, name: str) -> str:
        scale = self.graph.constant(f"{name}.weight", self.weight(f"{name}.weight"), np.float32)
        bias = self.graph.constant(f"{name}.bias", self.weight(f"{name}.bias"), np.float32)
        epsilon = self.description.layer_norm_eps
        return self.graph.op("LayerNormalization", states, scale, bias, axis=-1, epsilon=epsilon)

    def constants(self) -> None:
        heads = self.description.n_heads
        width = self.hidden // heads
        self.graph.constant("split_heads", [0, 0, heads, width], np.int64)
        self.graph.constant("join_heads", [0, 0, self.hidden], np.int64)
        self.graph.constant("query_scale", 1 / np.sqrt(width), np.float32)
        self.graph.constant("zero", [0], np.int64)
        self.graph.constant("one", [1], np.int64)
        self.graph.constant("two", [2], np.int64)
        self.graph.constant("first_axes", [1, 2], np.int64)
        self.graph.constant("last_axis", [-1], np.int64)
        self.graph.constant("float_one", 1.0, np.float32)
        self.graph.constant("masked", _MASKED, np.float32)
        self.graph.constant("tiny", 1e-12, np.float32)

    def embed(self) -> str:
        graph = self.graph
        table = graph.constant("word_embeddings", self.weight(_WORDS), np.float16)
        words = graph.op("Cast", graph.op("Gather", table, "input_ids"), to=TensorProto.FLOAT)
        token_type = self.weight("embeddings.token_type_embeddings.weight")[0]
        positions = self.weight("embeddings.position_embeddings.weight") + token_type
        table = graph.matrix("position_embeddings", positions[: self.description.max_tokens])
        length = graph.op("Slice", graph.op("Shape", "input_ids"), "one", "two")
        places = graph.op("Slice", table, "zero", length, "zero")
        return self.layer_norm(graph.op("Add", words, places), "embeddings.LayerNorm")

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
        context = self.linear(graph.op("Reshape", context, "join_heads"), f"{root}.attention.output.dense")
        states = self.layer_norm(graph.op("Add", context, states), f"{root}.attention.output.LayerNorm")
        inner = graph.op("Gelu", self.linear(states, f"{root}.intermediate.dense"))
        inner = self.linear(inner, f"{root}.output.dense")
        return self.layer_norm(graph.op("Add", inner, states), f"{root}.output.LayerNorm")

    def pool(self, states: str) -> str:
        graph = self.graph
        row = graph.op("Unsqueeze", "float_mask", "one")
        total = graph.op("Squeeze", graph.op("MatMul", row, states), "one")
        n_tokens = graph.op("ReduceSum", "float_mask", "last_axis", keepdims=1)
        mean = graph.op("Div", total, n_tokens)
        norm = graph.op("ReduceL2", mean, "last_axis", keepdims=1)
        return graph.op("Div", mean, graph.op("Max", norm, "tiny"), output="sentence_vectors")

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
        token_shape = ["batch", "length"]
        graph = helper.make_graph(
            self.graph.nodes,
            self.description.name,
            [
                helper.make_tensor_value_info("input_ids", TensorProto.INT64, token_shape),
                helper.make_tensor_value_info("attention_mask", TensorProto.INT64, token_shape),
            ],
            [helper.make_tensor_value_info("sentence_vectors", TensorProto.FLOAT, ["batch", self.hidden])],
            self.graph.initialisers,
        )
        opset = helper.make_opsetid("", _OPSET)
        return helper.make_model(graph, opset_imports=[opset], ir_version=_IR_VERSION, producer_name="ytrag")


def convert_to_onnx(weights: Path, description: EncoderDescription) -> bytes:
    """Convert a BERT-shaped encoder to ONNX.

    Parameters
    ----------
    weights
        A safetensors file.
    description
        Gives the number of heads, the epsilon, the longest input and the expected width.

    Returns
    -------
    bytes
        The ONNX model, the same bytes for the same input. Inputs `input_ids` and `attention_mask`,
        (batch, length) int64; output `sentence_vectors`, (batch, dimension) float32, unit-norm: the mean of
        the token vectors under the mask. Matrices are stored as float16 and computed in float32.

    Raises
    ------
    ModelError
        If the weights are not of that shape.
    """
    if description.pooling != "mean":
        raise ModelError(f"{description.name} asks for {description.pooling} pooling; only mean is known")
    bert = _Bert(read_safetensors(weights), description)
    if bert.hidden != description.dimension:
        raise ModelError(
            f"{description.name} is {bert.hidden} wide, its description says {description.dimension}"
        )
    model: onnx.ModelProto = bert.emit()
    onnx.checker.check_model(model)
    serialised: bytes = model.SerializeToString(deterministic=True)
    return serialised
