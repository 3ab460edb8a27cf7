"""A foreign ONNX encoder made to fit: known inputs, token vectors pooled and normalised inside the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.compose
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import Pooling

__all__ = ["OnnxShape", "inspect_onnx", "wrap_onnx"]

IDS, MASK, VECTORS = "input_ids", "attention_mask", "sentence_vectors"
_INTEGERS = {TensorProto.INT64, TensorProto.INT32}
_FLOATS = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE}
_POOLED = ("sentence_vectors", "sentence_embedding", "sentence_embeddings")
_TOKENS = ("last_hidden_state", "token_embeddings", "token_vectors", "output")
_OLD = "own/"
_MAX_BYTES = 2_000_000_000


@dataclass(frozen=True, slots=True)
class OnnxShape:
    """How an ONNX encoder is called.

    Attributes
    ----------
    ids
        Name of the input for token ids.
    mask
        Name of the input for their mask; empty where there is none. Nothing is ever padded.
    segments
        Name of the input for token types, which are all 0; empty where there is none.
    output
        The output that is used.
    pooled
        Whether it has one vector a text; else one a token.
    dimension
        Its width; 0 where the file does not say.
    fits
        Whether the encoder can call the file as it is.
    """

    ids: str
    mask: str
    segments: str
    output: str
    pooled: bool
    dimension: int
    fits: bool


def inspect_onnx(path: Path, output: str | None = None) -> OnnxShape:
    """Read how an ONNX encoder is called, without its tensors.

    Parameters
    ----------
    path
        The file.
    output
        The output to use; by default a sentence vector where one has a usual name, else token vectors.

    Raises
    ------
    ModelError
        If it is not ONNX, or not an encoder of token ids.
    """
    model = _load(path, external=False)
    named = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name: value for value in model.graph.input if value.name not in named}
    roles = _roles(path, inputs)
    chosen = _output(path, model, output)
    dims = chosen.type.tensor_type.shape.dim
    width = int(dims[-1].dim_value) if len(dims) else 0
    is_first = model.graph.output[0].name == chosen.name
    kinds = {value.type.tensor_type.elem_type for value in inputs.values()}
    fits = (
        set(inputs) in ({IDS}, {IDS, MASK})
        and kinds == {TensorProto.INT64}
        and is_first
        and len(dims) == 2
        and chosen.type.tensor_type.elem_type == TensorProto.FLOAT
    )
    return OnnxShape(*roles, chosen.name, len(dims) == 2, width, fits)


def _load(path: Path, *, external: bool) -> Any:
    try:
        model = onnx.load(str(path), load_external_data=external)
    except (DecodeError, OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as ONNX ({error}): export the encoder again") from error
    if not model.graph.node:
        raise ModelError(f"{path} holds no ONNX graph: export the encoder again")
    return model


def _roles(path: Path, inputs: dict[str, Any]) -> tuple[str, str, str]:
    """Tell token ids, mask and token types apart by their names."""
    found: dict[str, str] = {}
    for name, value in inputs.items():
        lowered = name.lower()
        role = (
            "mask"
            if "mask" in lowered
            else "segments"
            if "token_type" in lowered or "segment" in lowered
            else "ids"
            if lowered in ("input", "ids", "tokens") or lowered.endswith("input_ids")
            else ""
        )
        if not role or role in found or value.type.tensor_type.elem_type not in _INTEGERS:
            found.clear()
            break
        found[role] = name
    if "ids" not in found:
        raise ModelError(
            f"{path} has the inputs {', '.join(inputs) or 'none'}; wanted integers called input_ids, and at "
            "most attention_mask and token_type_ids: export the encoder with these"
        )
    return found["ids"], found.get("mask", ""), found.get("segments", "")


def _output(path: Path, model: Any, wanted: str | None) -> Any:
    outputs = {value.name: value for value in model.graph.output}
    names = [wanted] if wanted is not None else [*_POOLED, *_TOKENS, *outputs]
    for name in names:
        value = outputs.get(name)
        if value is None:
            continue
        kind = value.type.tensor_type
        rank = len(kind.shape.dim)
        if kind.elem_type in _FLOATS and rank in (2, 3) and (wanted or name in _POOLED or rank == 3):
            return value
    if wanted is None and len(outputs) == 1:
        value = next(iter(outputs.values()))
        if value.type.tensor_type.elem_type in _FLOATS and len(value.type.tensor_type.shape.dim) == 2:
            return value
    shown = ", ".join(f"{name} of rank {len(v.type.tensor_type.shape.dim)}" for name, v in outputs.items())
    raise ModelError(
        f"{path} has the outputs {shown}; wanted float vectors (batch, width) or (batch, tokens, width)"
        + (f" called {wanted}" if wanted else ": name the output in encoder.toml, as output = ...")
    )


class _Tail:
    """Appends nodes whose form is the same in every opset from 11 on."""

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        name = output or f"ytrag/{kind.lower()}_{len(self.graph.node)}"
        node = helper.make_node(kind, list(inputs), [name], name=f"node_{name}", **attributes)
        self.graph.node.append(node)
        return name

    def constant(self, name: str, value: Any, dtype: type[np.generic]) -> str:
        array = np.asarray(value, dtype=dtype, order="C")
        self.graph.initializer.append(numpy_helper.from_array(array, f"ytrag/{name}"))
        return f"ytrag/{name}"

    def pool(self, states: str, pooling: Pooling) -> str:
        """(batch, tokens, width) to (batch, width)."""
        if pooling == "none":
            return states
        if pooling == "cls":
            return self.op("Gather", states, self.constant("first", 0, np.int64), axis=1)
        mask = self.op("Cast", MASK, to=TensorProto.FLOAT)
        row = self.op("Reshape", mask, "ytrag/row")
        total = self.op("Reshape", self.op("MatMul", row, states), "ytrag/flat")
        column = self.op("Reshape", mask, "ytrag/column")
        count = self.op("Reshape", self.op("MatMul", row, column), "ytrag/flat")
        return self.op("Div", total, self.op("Max", count, self.constant("one", [1.0], np.float32)))

    def unit(self, vectors: str) -> str:
        squares = self.op(
            "MatMul",
            self.op("Reshape", vectors, "ytrag/row"),
            self.op("Reshape", vectors, "ytrag/column"),
        )
        norm = self.op("Sqrt", self.op("Reshape", squares, "ytrag/flat"))
        return self.op("Div", vectors, self.op("Max", norm, self.constant("tiny", [1e-12], np.float32)))


def wrap_onnx(path: Path, shape: OnnxShape, pooling: Pooling, *, normalise: bool) -> bytes:
    """Make an ONNX encoder fit.

    Parameters
    ----------
    path
        The file; tensors may lie in a file beside it.
    shape
        Of `inspect_onnx`.
    pooling
        For token vectors.
    normalise
        Whether to bring vectors to length 1.

    Returns
    -------
    bytes
        ONNX with the inputs `input_ids` and `attention_mask`, (batch, length) int64, and one output,
        `sentence_vectors`, (batch, width) float32.

    Raises
    ------
    ModelError
        If the file cannot be read or is too large for one message of 2 GB.
    """
    model = _load(path, external=True)
    old = {value.name: value.type.tensor_type.elem_type for value in model.graph.input}
    model = onnx.compose.add_prefix(model, _OLD)
    graph = model.graph
    head = _Tail(onnx.GraphProto())
    head.op("Cast", IDS, output=_OLD + shape.ids, to=old[shape.ids])
    if shape.mask:
        head.op("Cast", MASK, output=_OLD + shape.mask, to=old[shape.mask])
    if shape.segments:
        zero = numpy_helper.from_array(np.zeros(1, np.int64))
        zeros = head.op("ConstantOfShape", head.op("Shape", IDS), value=zero)
        head.op("Cast", zeros, output=_OLD + shape.segments, to=old[shape.segments])
    body = list(graph.node)
    del graph.node[:], graph.input[:], graph.output[:]
    graph.node.extend([*head.graph.node, *body])
    tail = _Tail(graph)
    tail.constant("row", [0, 1, -1], np.int64)
    tail.constant("column", [0, -1, 1], np.int64)
    tail.constant("flat", [0, -1], np.int64)
    states = tail.op("Cast", _OLD + shape.output, to=TensorProto.FLOAT)
    vectors = tail.pool(states, pooling)
    tail.op("Identity", tail.unit(vectors) if normalise else vectors, output=VECTORS)
    token_shape = ["batch", "length"]
    graph.input.extend(
        helper.make_tensor_value_info(name, TensorProto.INT64, token_shape) for name in (IDS, MASK)
    )
    width = shape.dimension or "width"
    graph.output.append(helper.make_tensor_value_info(VECTORS, TensorProto.FLOAT, ["batch", width]))
    if model.ByteSize() > _MAX_BYTES:
        raise ModelError(f"{path} is larger than 2 GB with its tensors; use a smaller encoder")
    serialised: bytes = model.SerializeToString(deterministic=True)
    return serialised
