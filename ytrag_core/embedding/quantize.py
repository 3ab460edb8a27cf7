"""Products of 8-bit integers in place of float ones: exact on every processor.

A matrix is stored as int8 with one scale a column. The states that it is multiplied with become uint8 with
one scale a token (a row), never one a tensor: a string's vector must not depend on its neighbours in a batch.
States of both signs are centred at 128; those behind a GELU, which is never below -0.17, are raised by that
and so use the whole range, which halves their rounding.

Where a processor has no instruction for sums of such products, the runtime adds the products of two
neighbouring rows of the matrix in 16 bits, and a sum beyond 32,767 is cut in silence: 255 * 127 twice is. So
the scale of a column is so large that two neighbours add up to 127 at most. That costs a third of a bit, and
no cosine to fp32 that can be measured; in return one file is exact everywhere and runs the fast kernels
everywhere. Limiting the few pairs that are too large instead was tried: cosine 0.987 in place of 0.997. So
was the runtime's switch for exact products: right, a fifth slower, and a switch to forget.

Of all roundings, that of the states which become the values of the attention tells most. So what it leaves is
rounded and multiplied too, a twelfth more products; the mean cosine to fp32 goes from 0.9978 to 0.9990. The
same for queries and keys changes nothing, and scales that even out the widths of states (SmoothQuant,
arXiv 2211.10438) do not either.

What is left of a processor's kind, and of the runtime's release, is the rounding of the float operations
between the products: a difference in the last bit can move a state by one step. On one machine, alone, in a
batch and on any number of threads, a text has the same vector.

The product is written as the runtime's own operator for it, with the columns' scales inside and the rows'
scales behind it. The spelling with a cast and a product of both scales is one that the runtime's optimiser
fuses wrongly: it takes the scale a row for a scale a tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.embedding.onnx_graph import OnnxGraph

__all__ = ["GELU_FLOOR", "IntegerProducts", "quantize_columns"]

GELU_FLOOR = 0.1701
"""GELU is never below the negative of this, nor is the approximation of it that is used."""

_LARGEST = 127
_CENTRE = 128
_NOTHING = 1e-30


def quantize_columns(matrix: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix to integers.

    Parameters
    ----------
    matrix
        (n_in, n_out) float.

    Returns
    -------
    integers
        (n_in, n_out) int8 within -127..127; rows 2i and 2i + 1 of a column add up to -128..128.
    scales
        (n_out,) float32, positive: a column is about its integers times its scale.
    """
    wide = np.asarray(matrix, np.float64)
    even, odd = wide[0::2], wide[1::2]
    pairs = np.abs(even[: len(odd)] + odd).max(axis=0, initial=0.0)
    largest = np.maximum(np.abs(wide).max(axis=0), pairs)
    scales = (np.maximum(largest, _NOTHING) / _LARGEST).astype(np.float32)
    integers = np.clip(np.rint(wide / scales), -_LARGEST, _LARGEST).astype(np.int8)
    return integers, scales


class IntegerProducts:
    """Emits products of integers.

    Parameters
    ----------
    graph
        Where the nodes go.
    rows
        Name of the shape of the states with 1 in the place of their width, int64.
    """

    gelu = "FastGelu"
    """The approximation by a hyperbolic tangent: off by 0.0005, a step of the integers is a hundredth."""

    def __init__(self, graph: OnnxGraph, rows: str) -> None:
        self._graph = graph
        self._quantized: dict[str, tuple[str, str]] = {}
        graph.constant("quantize.one", 1.0, np.float32)
        graph.constant("quantize.step", 1 / _LARGEST, np.float32)
        graph.constant("quantize.smaller", 1 / (2 * _LARGEST), np.float32)
        graph.constant("quantize.centre", _CENTRE, np.uint8)
        graph.constant("quantize.floor", GELU_FLOOR, np.float32)
        graph.constant("quantize.positive_step", 1 / (2 * _LARGEST + 1), np.float32)
        graph.constant("quantize.zero", 0, np.uint8)
        graph.constant("quantize.width", [-1], np.int64)
        graph.op("Expand", "quantize.centre", rows, output="quantize.centres")

    def multiply(
        self, states: str, name: str, weight: NDArray[Any], *, after_gelu: bool = False, twice: bool = False
    ) -> str:
        """Emit one product.

        Parameters
        ----------
        states
            Name of (..., n_in) float32 states.
        name
            Name of the layer.
        weight
            (n_out, n_in) float.
        after_gelu
            Whether the states come out of a GELU; they are raised, and so is the output, by what
            `raised_by` says.
        twice
            Whether what the integers leave of the states is rounded and multiplied too, in steps 254 times
            as small; not after a GELU.

        Returns
        -------
        str
            Name of the (..., n_out) float32 output.
        """
        graph = self._graph
        integers, scales = quantize_columns(weight.T)
        quantized, steps = self._quantize(states, len(integers), after_gelu)
        matrix = (
            graph.constant(f"{name}.weight", integers, np.int8),
            "quantize.one",
            graph.constant(f"{name}.scales", scales, np.float32),
            "quantize.zero" if after_gelu else "quantize.centre",
        )
        product = graph.op("Mul", graph.fused("MatMulIntegerToFloat", quantized, *matrix), steps)
        if not twice:
            return product
        rest, smaller = self._quantize_rest(states, quantized, steps, len(integers))
        behind = graph.op("Mul", graph.fused("MatMulIntegerToFloat", rest, *matrix), smaller)
        return graph.op("Add", product, behind)

    def _quantize_rest(self, states: str, quantized: str, steps: str, width: int) -> tuple[str, str]:
        """Return what the integers leave of states, as integers too, and their steps."""
        graph, centres = self._graph, "quantize.centres"
        kept = graph.op("DequantizeLinear", quantized, steps, centres, axis=-1, block_size=width)
        smaller = graph.op("Mul", steps, "quantize.smaller")
        rest = graph.op("Sub", states, kept)
        return graph.op("QuantizeLinear", rest, smaller, centres, axis=-1, block_size=width), smaller

    @staticmethod
    def effective(weight: NDArray[Any]) -> NDArray[np.float64]:
        """Return the matrix that `multiply` multiplies with, (n_out, n_in), rounded as it is."""
        integers, scales = quantize_columns(weight.T)
        matrix: NDArray[np.float64] = integers.T.astype(np.float64) * scales.astype(np.float64)[:, None]
        return matrix

    def raised_by(self, weight: NDArray[Any]) -> NDArray[np.float64]:
        """Return what a product after a GELU is too large by, (n_out,)."""
        raised: NDArray[np.float64] = GELU_FLOOR * self.effective(weight).sum(axis=1)
        return raised

    def _quantize(self, states: str, width: int, after_gelu: bool) -> tuple[str, str]:
        """Return the (..., width) uint8 form of states and its (..., 1) float32 steps.

        The step of a row of zeros is 0. Its integers then are anything, and what they are multiplied to is 0
        again.
        """
        if states not in self._quantized:
            graph, centres = self._graph, () if after_gelu else ("quantize.centres",)
            raised = graph.op("Add", states, "quantize.floor") if after_gelu else states
            size = raised if after_gelu else graph.op("Abs", states)
            largest = graph.op("ReduceMax", size, "quantize.width", keepdims=1)
            steps = graph.op("Mul", largest, "quantize.positive_step" if after_gelu else "quantize.step")
            # One block is a whole row, so that its step needs no other shape than the product's. Without
            # a centre it is 0.
            quantized = graph.op("QuantizeLinear", raised, steps, *centres, axis=-1, block_size=width)
            self._quantized[states] = quantized, steps
        return self._quantized[states]
