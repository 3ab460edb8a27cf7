"""Collects the nodes of an ONNX graph; every operation is named by its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

__all__ = ["OnnxGraph"]

_OPSETS = {"": 21, "com.microsoft": 1}
_IR_VERSION = 10


class OnnxGraph:
    """Nodes and initialisers in the order in which they were asked for."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._initialisers: list[onnx.TensorProto] = []

    def op(self, kind: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        """Add a node of one output and return that output's name; attributes as `helper.make_node` has."""
        name = output or f"{kind.lower()}_{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, list(inputs), [name], name=f"node_{name}", **attributes))
        return name

    def constant(self, name: str, value: Any, dtype: type[np.generic]) -> str:
        """Store a constant array and return its name."""
        array = np.asarray(value, dtype=dtype, order="C")
        self._initialisers.append(numpy_helper.from_array(array, name))
        return name

    def matrix(self, name: str, value: NDArray[Any]) -> str:
        """Store a matrix as float16; the runtime folds the cast to float32 when it loads the graph."""
        return self.op("Cast", self.constant(name, value, np.float16), to=TensorProto.FLOAT)

    def fused(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add a node of the runtime's own operators."""
        return self.op(kind, *inputs, domain="com.microsoft", **attributes)

    def model(self, name: str, inputs: list[str], output: str, width: int) -> onnx.ModelProto:
        """Return the model: inputs (batch, length) int64, one output (batch, width) float32."""
        shape = ["batch", "length"]
        graph = helper.make_graph(
            self._nodes,
            name,
            [helper.make_tensor_value_info(each, TensorProto.INT64, shape) for each in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, ["batch", width])],
            self._initialisers,
        )
        used = {node.domain for node in self._nodes}
        opsets = [helper.make_opsetid(domain, _OPSETS[domain]) for domain in sorted(used)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="ytrag")
