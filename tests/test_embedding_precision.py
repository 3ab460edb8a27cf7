"""Integers in place of floats: rounding, exact products, one scale a token; and when they are chosen."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from tests.tiny_encoder import HIDDEN, tiny_weights, write_published
from ytrag_core.embedding import precision
from ytrag_core.embedding.convert import convert_to_onnx, read_safetensors
from ytrag_core.embedding.onnx_graph import OnnxGraph
from ytrag_core.embedding.quantize import GELU_FLOOR, IntegerProducts, quantize_columns
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

F32 = np.float32
X86 = "processor\t: 0\nflags\t\t: fpu sse {} rdseed\npower management:\n\nprocessor\t: 1\n"


def reference(
    states: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32], after_gelu: bool
) -> NDArray[np.float64]:
    """Compute one layer as its definition says, with products in exact integers."""
    integers, scales = quantize_columns(weight.T)
    if after_gelu:
        states = states + F32(GELU_FLOOR)
        centre, steps = 0, states.max(axis=1) * F32(1 / 255)
    else:
        centre, steps = 128, np.abs(states).max(axis=1) * F32(1 / 127)
    codes = np.clip(np.rint(states / steps[:, None]) + centre, 0, 255).astype(np.int64)
    sums = (codes - centre) @ integers.astype(np.int64)
    product: NDArray[np.float64] = sums * scales.astype(np.float64) * steps[:, None].astype(np.float64)
    if after_gelu:
        product -= GELU_FLOOR * integers.sum(axis=0, dtype=np.int64) * scales.astype(np.float64)
    return product + bias


def run_layer(
    states: NDArray[np.float32], weight: NDArray[np.float32], bias: NDArray[np.float32], after_gelu: bool
) -> NDArray[np.float32]:
    """Run the graph of one layer, with all the optimisations that the runtime knows."""
    graph = OnnxGraph()
    shape = graph.constant("shape", [-1, weight.shape[1]], np.int64)
    states_name = graph.op("Reshape", graph.constant("states", states, np.float32), shape)
    # Something of the input has to be in the graph, or the runtime computes everything when it loads.
    ids = graph.op("Cast", graph.op("Mul", "input_ids", graph.constant("nothing", 0, np.int64)), to=1)
    states_name = graph.op("Add", states_name, ids)
    rows = graph.constant("rows", [len(states), 1], np.int64)
    products = IntegerProducts(graph, rows)
    product = products.multiply(states_name, "layer", weight, after_gelu=after_gelu)
    shift = bias - products.raised_by(weight) if after_gelu else bias
    graph.op("Add", product, graph.constant("bias", shift, np.float32), output="out")
    model = graph.model("layer", ["input_ids"], "out", weight.shape[0]).SerializeToString()
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    outputs: list[Any] = list(session.run(None, {"input_ids": np.zeros((1, 1), np.int64)}))
    found: NDArray[np.float32] = outputs[0]
    return found


@given(
    npst.arrays(
        np.float32, npst.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-9, 9, width=32)
    )
)
def test_a_rounded_matrix_is_near_and_no_two_neighbours_overflow(matrix: NDArray[np.float32]) -> None:
    integers, scales = quantize_columns(matrix)
    assert integers.dtype == np.int8
    assert scales.dtype == np.float32
    assert (scales > 0).all()
    assert np.abs(integers.astype(int)).max() <= 127
    np.testing.assert_allclose(
        integers * scales.astype(np.float64), matrix, atol=0.5001 * scales.max() + 1e-30
    )
    even, odd = integers[0::2].astype(int), integers[1::2].astype(int)
    assert (np.abs(even[: len(odd)] + odd) * 255 < 1 << 15).all()


@pytest.mark.parametrize("after_gelu", [False, True])
@pytest.mark.parametrize(
    ("n_tokens", "n_in", "n_out"), [(1, 384, 384), (3, 64, 9), (17, 1536, 384), (70, 33, 50)]
)
def test_the_runtime_multiplies_as_the_definition_says(
    n_tokens: int, n_in: int, n_out: int, after_gelu: bool
) -> None:
    rng = np.random.default_rng(n_in)
    states = rng.standard_normal((n_tokens, n_in)).astype(np.float32)
    # Rows of very different size: whoever takes one scale for all of them loses the small ones.
    states *= np.logspace(-3, 3, n_tokens, dtype=np.float32)[:, None]
    if after_gelu:
        states = np.maximum(states, F32(-GELU_FLOOR))
    states[0, 0] = 0
    weight = rng.standard_normal((n_out, n_in)).astype(np.float32)
    bias = rng.standard_normal(n_out).astype(np.float32)
    wanted = reference(states, weight, bias, after_gelu)
    found = run_layer(states, weight, bias, after_gelu)
    size = np.abs(wanted - bias).max(axis=1, keepdims=True) + np.abs(bias).max()
    assert (np.abs(found - wanted) / size).max() < 2e-6


@pytest.mark.parametrize("n_tokens", [1, 2, 7, 64])
def test_the_largest_products_do_not_overflow(n_tokens: int) -> None:
    n_in, n_out = 384, 48
    rng = np.random.default_rng(5)
    states = np.ones((n_tokens, n_in), np.float32)
    weight = np.where(rng.random((n_out, n_in)) < 0.5, F32(1), F32(0.99)) * rng.choice([-1, 1], (n_out, 1))
    weight = weight.astype(np.float32)
    bias = np.zeros(n_out, np.float32)
    for after_gelu in (False, True):
        wanted = reference(states, weight, bias, after_gelu)
        np.testing.assert_allclose(run_layer(states, weight, bias, after_gelu), wanted, rtol=2e-6)


def test_a_row_of_zeros_gives_the_bias() -> None:
    states = np.zeros((2, 8), np.float32)
    weight = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
    bias = np.arange(4, dtype=np.float32)
    np.testing.assert_allclose(run_layer(states, weight, bias, False), [bias, bias], atol=1e-6)


@pytest.mark.parametrize("scale", [0.0, 1.0, 8.0])
def test_what_a_gelu_leaves_is_rounded_to_half_a_step(scale: float) -> None:
    floats = np.linspace(-4, 4, 401, dtype=np.float32) * F32(scale)
    states = np.array([x * (1 + math.erf(x / math.sqrt(2))) / 2 for x in floats.tolist()], np.float32)[None]
    found = run_layer(states, np.eye(401, dtype=np.float32), np.zeros(401, np.float32), True)
    step = (float(states.max()) + GELU_FLOOR) / 255
    assert np.abs(found - states).max() <= 0.5001 * step + 1e-6


def test_the_raised_states_of_a_layer_are_lowered_by_the_matrix_that_multiplies() -> None:
    rng = np.random.default_rng(2)
    weight = rng.standard_normal((7, 12)).astype(np.float32)
    integers, scales = quantize_columns(weight.T)
    effective = IntegerProducts.effective(weight)
    np.testing.assert_array_equal(effective, (integers * scales.astype(np.float64)).T)
    assert np.abs(effective - weight).max() <= 0.5001 * scales.max()


def test_a_whole_small_encoder_keeps_its_directions(tmp_path: Path) -> None:
    description = write_published(tmp_path, tiny_weights())
    weights = read_safetensors(tmp_path / "model.safetensors")
    vectors = []
    for each in ("fp32", "int8"):
        model = convert_to_onnx(weights, description, each)
        session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
        ids = np.array([[2, 5, 6, 7, 11, 3], [2, 9, 4, 4, 8, 3]])
        outputs: list[Any] = list(session.run(None, {"input_ids": ids}))
        vectors.append(outputs[0])
    assert vectors[1].shape == (2, HIDDEN)
    assert (vectors[0] * vectors[1]).sum(axis=1).min() > 0.99
    assert convert_to_onnx(weights, description, "int8") == convert_to_onnx(weights, description, "int8")


@pytest.mark.parametrize(
    ("cpuinfo", "wanted"),
    [
        (X86.format("avx512_vnni"), True),
        (X86.format("avx_vnni"), True),
        (X86.format("avx2"), True),
        (X86.format("avx512f"), False),
        ("processor\t: 0\nFeatures\t: fp asimd asimddp aes\n", True),
        ("processor\t: 0\nFeatures\t: fp asimd aes\n", False),
        ("", False),
        ("flags\n", False),
        (None, False),
    ],
)
def test_linux_says_what_the_processor_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cpuinfo: str | None, wanted: bool
) -> None:
    path = tmp_path / "cpuinfo"
    if cpuinfo is not None:
        path.write_text(cpuinfo, encoding="ascii")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(precision, "_CPUINFO", path)
    assert precision.multiplies_bytes.__wrapped__() is wanted


def test_a_system_that_does_not_answer_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_MACOS_SWITCHES", ("hw.optional.no_such_thing",))
    monkeypatch.setattr(sys, "platform", "darwin")
    assert precision.multiplies_bytes.__wrapped__() is False


@pytest.mark.parametrize(
    ("wanted", "is_fast", "chosen", "note"),
    [
        ("auto", True, "int8", None),
        ("auto", False, "fp32", "fp32 is used"),
        ("fp32", True, "fp32", None),
        ("fp32", False, "fp32", None),
        ("int8", True, "int8", None),
        ("int8", False, "int8", "the same vectors"),
    ],
)
def test_the_precision_follows_the_wish_and_the_processor(
    monkeypatch: pytest.MonkeyPatch,
    wanted: Literal["auto", "fp32", "int8"],
    is_fast: bool,
    chosen: str,
    note: str | None,
) -> None:
    monkeypatch.setattr(precision, "multiplies_bytes", lambda: is_fast)
    found, told = precision.choose_precision(wanted)
    assert found == chosen
    assert told is None if note is None else note in str(told)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(ModelError, match="'int4' is not known: choose auto, fp32 or int8"):
        precision.choose_precision("int4")  # type: ignore[arg-type]
