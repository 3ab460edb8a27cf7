"""What the tests of the kernels of path search share: unit vectors, and places as bits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

WIDTH = 8
N_RELATIONS = 4


def unit_halves(rng: np.random.Generator, n: int) -> NDArray[np.float16]:
    rows = rng.normal(size=(n, WIDTH))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float16)


def unit_query(rng: np.random.Generator) -> NDArray[np.float32]:
    return np.asarray(unit_halves(rng, 1)[0], np.float32)


def bits(places: list[int] | set[int]) -> int:
    return sum(1 << place for place in places)
