"""A conditional logit in numpy: weights under which wanted passages outscore the others of their question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Choices", "fit_weights", "joined"]

_MAX_STEPS = 60
_MAX_HALVINGS = 30
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """Candidates of questions, one question's behind the other's.

    Attributes
    ----------
    values
        (n, f) float64 features.
    starts
        (q,) int64, where each question's candidates start; none is empty.
    positive
        (n,) bool: the wanted ones.
    negative
        (n,) bool: what they are held against; a candidate may be neither.
    importance
        (q,) float64, not negative, of each question.
    """

    values: NDArray[np.float64]
    starts: NDArray[np.int64]
    positive: NDArray[np.bool_]
    negative: NDArray[np.bool_]
    importance: NDArray[np.float64]


def joined(
    parts: Sequence[tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], float]],
) -> Choices:
    """Return the choices of questions given as (values, positive, negative, importance)."""
    lengths = np.array([values.shape[0] for values, *_ in parts], np.int64)
    return Choices(
        np.concatenate([values for values, *_ in parts]),
        np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64),
        np.concatenate([positive for _, positive, _, _ in parts]),
        np.concatenate([negative for _, _, negative, _ in parts]),
        np.array([importance for *_, importance in parts], np.float64),
    )


def fit_weights(
    choices: Choices, prior: NDArray[np.float64], scale: NDArray[np.float64], penalty: float
) -> NDArray[np.float64]:
    """Return the weights, none negative, that explain the choices best without leaving the prior for little.

    Minimises the mean over a question's positives of -log(exp(s) / (exp(s) + sum of exp of its negatives)),
    summed over questions by importance, plus `penalty` / 2 times the squared distance of the weights from
    `prior`, each in units of 1 / `scale`. The problem is convex; a projected Newton method solves it, so the
    result is the same every time.

    Parameters
    ----------
    choices
        The questions.
    prior
        (f,) float64, not negative.
    scale
        (f,) float64, positive: how far each feature spreads.
    penalty
        Not negative.

    Returns
    -------
    ndarray
        (f,) float64, not negative.

    Notes
    -----
    D. McFadden's conditional logit (1974) over the candidates of a question, one choice a positive. The
    projection is that of Bertsekas, SIAM J. Control 20 (1982). Weights are kept from going below zero, as
    every feature is built to speak for a passage: a negative one would be an accident of few questions.
    """
    weights = np.maximum(prior, 0.0)
    value, gradient, curvature = _loss(choices, weights, prior, scale, penalty)
    for _ in range(_MAX_STEPS):
        free = (weights > 0.0) | (gradient < 0.0)
        if not free.any():
            break
        step = np.zeros_like(weights)
        inner = curvature[np.ix_(free, free)] + 1e-9 * np.diag(scale[free] ** 2)
        step[free] = np.linalg.solve(inner, gradient[free])
        moved = weights
        for halving in range(_MAX_HALVINGS):
            moved = np.maximum(weights - 0.5**halving * step, 0.0)
            attempt = _loss(choices, moved, prior, scale, penalty)
            if attempt[0] <= value:
                break
        else:
            break
        change = float(np.abs((moved - weights) * scale).max())
        weights, (value, gradient, curvature) = moved, attempt
        if change < _TOLERANCE:
            break
    return weights


def _loss(
    choices: Choices,
    weights: NDArray[np.float64],
    prior: NDArray[np.float64],
    scale: NDArray[np.float64],
    penalty: float,
) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
    """Return the value, its gradient (f,) and its second derivatives (f, f)."""
    values, starts, positive = choices.values, choices.starts, choices.positive
    scores = values @ weights
    lengths = np.diff(np.append(starts, scores.shape[0]))
    question = np.repeat(np.arange(starts.shape[0]), lengths)
    highest = np.maximum.reduceat(scores, starts)
    mass = np.exp(scores - highest[question])
    others = np.where(choices.negative, mass, 0.0)
    n_positive = np.maximum(np.add.reduceat(positive.astype(np.float64), starts), 1.0)
    wanted = np.flatnonzero(positive)
    of = question[wanted]
    share = choices.importance[of] / n_positive[of]
    total = np.add.reduceat(others, starts)[of] + mass[wanted]
    away = (weights - prior) * scale
    value = float(share @ (np.log(total) + highest[of] - scores[wanted])) + 0.5 * penalty * float(away @ away)
    first = np.add.reduceat(values * others[:, None], starts)
    mean = (first[of] + mass[wanted, None] * values[wanted]) / total[:, None]
    gradient = share @ (mean - values[wanted]) + penalty * scale * away
    by_question = np.bincount(of, share / total, starts.shape[0])
    inner = values * (others * by_question[question])[:, None]
    curvature = values.T @ inner
    curvature += (values[wanted] * (share * mass[wanted] / total)[:, None]).T @ values[wanted]
    curvature -= (mean * share[:, None]).T @ mean
    return value, gradient, curvature + penalty * np.diag(scale**2)
