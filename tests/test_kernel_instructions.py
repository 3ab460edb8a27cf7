"""Conversion of float16 and prefetching, with the processor's instructions and without."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
from numba import float32, int64, uint16
from numpy.testing import assert_array_equal

from ytrag_core.kernels import instructions
from ytrag_core.kernels.decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL = np.arange(1 << 16, dtype=np.uint16)
FINITE = ALL[np.isfinite(ALL.view(np.float16))]


@kernel((ro(uint16),))
def widened(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    values = np.empty(bits.shape[0], np.float32)
    for i in range(bits.shape[0]):
        values[i] = instructions.widen(bits[i])
    return values


@kernel((ro(float32),))
def narrowed(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    bits = np.empty(values.shape[0], np.uint16)
    for i in range(values.shape[0]):
        bits[i] = instructions.narrow(values[i])
    return bits


@kernel((ro(float32, 2), ro(uint16), int64))
def prefetched(rows: NDArray[np.float32], codes: NDArray[np.uint16], row: int) -> float:
    instructions.prefetch_row(rows, row)
    instructions.prefetch_row(codes, row)
    return float(rows[0, 0])


def between_halves() -> NDArray[np.float32]:
    """Return every positive half, the middle to the next, and what lies just beside the middle."""
    halves = np.sort(FINITE[FINITE < 1 << 15].view(np.float16)).astype(np.float32)
    middles = (halves[:-1] + halves[1:]) / 2
    beside = [np.nextafter(middles, np.float32(end)) for end in (0.0, 65504.0)]
    return np.concatenate([halves, middles, *beside]).astype(np.float32)


def test_halves_are_widened_as_numpy_does() -> None:
    assert_array_equal(widened(FINITE), FINITE.view(np.float16).astype(np.float32))


@pytest.mark.parametrize("sign", [1, -1])
def test_floats_are_narrowed_to_the_nearest_half_and_ties_to_even(sign: int) -> None:
    values = between_halves() * np.float32(sign)
    assert_array_equal(narrowed(values), values.astype(np.float16).view(np.uint16))


def test_prefetching_changes_nothing_and_takes_any_row() -> None:
    rows, codes = np.full((3, 40), 2, np.float32), np.zeros(3, np.uint16)
    for row in (0, 2, 3, -1, 1 << 40):
        assert prefetched(rows, codes, row) == 2


CHILD = """
import numpy as np
from ytrag_core.kernels import instructions
from tests.test_kernel_instructions import FINITE, between_halves, narrowed, widened
assert not instructions.converts_halves()
assert (widened(FINITE) == FINITE.view(np.float16).astype(np.float32)).all()
values = between_halves()
assert (narrowed(values) == values.astype(np.float16).view(np.uint16)).all()
"""


@pytest.mark.skipif(instructions.WITHOUT_COMPILER, reason="NUMBA_DISABLE_JIT=1: there is no machine code")
def test_a_processor_without_the_instruction_gives_the_same_bits() -> None:
    child = subprocess.run(
        [sys.executable, "-c", CHILD],
        env={**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert child.returncode == 0, child.stderr
