"""How sure a mean over questions is: percentiles of seeded bootstrap resamples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["N_RESAMPLES", "bootstrap_intervals"]

N_RESAMPLES = 2000
_TAILS = (2.5, 97.5)


def bootstrap_intervals(values: NDArray[np.float64], *, seed: int = 0) -> NDArray[np.float64]:
    """Return the 95 % interval of the mean of each column.

    Parameters
    ----------
    values
        (n_questions, n_metrics) float64; for the difference of two systems, that of each question.
    seed
        Of the resamples; the same values and seed give the same intervals.

    Returns
    -------
    ndarray
        (2, n_metrics) float64, lower and upper end.

    Notes
    -----
    The percentile bootstrap over whole questions (B. Efron, 1979), 2,000 resamples. All columns share the
    resamples, so differences of columns may be formed from them.
    """
    n = values.shape[0]
    draws = np.random.default_rng(seed).integers(0, n, (N_RESAMPLES, n))
    means = np.stack([values[draw].mean(axis=0) for draw in draws])
    ends: NDArray[np.float64] = np.percentile(means, _TAILS, axis=0)
    return ends
