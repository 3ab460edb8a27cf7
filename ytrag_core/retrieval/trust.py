"""How far a question tells texts apart by meaning: does its best text beat the best of blind chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.half_dot import half_dot_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Background", "Spread", "sample_rows"]

_SAMPLE = 512
_FEW = 64
"""Of fewer texts the best one itself widens the spread, and nothing can be said of it."""

_LEAST_DEVIATION = 0.01
_LEAST_TRUST = 0.01
"""A route that knows nothing still orders what no other route speaks of."""


def sample_rows(n: int) -> NDArray[np.int64]:
    """Return up to 512 of `n` rows, evenly spread, ascending."""
    return np.unique(np.linspace(0, max(n - 1, 0), min(n, _SAMPLE)).astype(np.int64))


@dataclass(frozen=True, slots=True)
class Spread:
    """Where the similarities of a question to all texts lie.

    Attributes
    ----------
    mean, deviation
        Of the similarities, by a sample.
    n
        How many texts there are.
    """

    mean: float
    deviation: float
    n: int

    def standardised(self, scores: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return how many standard deviations each score lies above the mean, (n,) float32."""
        standard: NDArray[np.float32] = (scores - np.float32(self.mean)) / np.float32(self.deviation)
        return standard

    def trust(self, best: float) -> float:
        """Return how far a question's best similarity is above what blind chance gives, in (0, 1].

        The best of n independent normal draws lies about sqrt(2 ln n) standard deviations above the mean. An
        encoder that cannot read the question (its language, its words) gives just that. Trust is twice the
        part of the best one's squared distance that chance does not explain, at most 1: full from 1.41 times
        that distance up.

        Parameters
        ----------
        best
            The highest similarity of any text.
        """
        if self.n < _FEW:
            return 1.0
        distance = (best - self.mean) / self.deviation
        if distance <= 0.0:
            return _LEAST_TRUST
        unexplained = 1.0 - 2.0 * math.log(self.n) / distance**2
        return min(max(2.0 * unexplained, _LEAST_TRUST), 1.0)


class Background:
    """An even sample of texts that tells what a similarity to any text is like.

    Parameters
    ----------
    bits
        (m, d) uint16: vectors of the sampled texts, float16 by their bits.
    n
        How many texts they were taken from.
    """

    def __init__(self, bits: NDArray[np.uint16], n: int) -> None:
        self._bits = np.ascontiguousarray(bits)
        self._n = n

    def spread(self, query: NDArray[np.float32]) -> Spread:
        """Return the spread of a question's similarities.

        Parameters
        ----------
        query
            (d,) float32, unit-norm.
        """
        if not len(self._bits):
            return Spread(0.0, 1.0, 0)
        mean, deviation = half_dot_spread(self._bits, query)
        return Spread(mean, max(deviation, _LEAST_DEVIATION), self._n)
