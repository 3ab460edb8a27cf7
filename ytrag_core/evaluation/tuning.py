"""Fits the weights of the fusion to questions with known passages, and judges them on questions left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.fitting import fit_weights, joined
from ytrag_core.evaluation.metrics import chain_at_k, recall_at_k, reciprocal_rank
from ytrag_core.evaluation.samples import Sample, grouped
from ytrag_core.retrieval.weights import FEATURES, SIDE_FEATURES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

__all__ = ["METRICS", "Judged", "cross_validate", "fit_fusion", "judge", "tune"]

METRICS = ("recall@1", "recall@2", "recall@5", "recall@20", "chain@20", "mrr")

_FEWEST = 20
_N_FOLDS = 5
_N_REPEATS = 3
_N_ROUNDS = 3
_PENALTY = 1.0
_SIDE_WEIGHT = 0.1
_LEAST_SPREAD = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """What a refit of the weights would bring.

    Attributes
    ----------
    before, after
        Metric -> percent, of the weights in force and of weights fitted without the question judged.
    gain, error
        Mean over questions of the difference of the mean of the metrics, in percent, and its standard error.
    n, n_groups
        Questions, and groups of questions that share no passage.
    weights
        Feature -> weight, fitted on all questions.
    reason
        Why the weights are not worth taking over; empty where they are.
    """

    before: Mapping[str, float]
    after: Mapping[str, float]
    gain: float
    error: float
    n: int
    n_groups: int
    weights: Mapping[str, float]
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "n": self.n,
            "n_groups": self.n_groups,
            "before": dict(self.before),
            "after": dict(self.after),
            "gain": round(self.gain, 2),
            "error": round(self.error, 2),
            "weights": dict(self.weights),
            "worth_it": not self.reason,
            **({"reason": self.reason} if self.reason else {}),
        }


def judge(sample: Sample, weights: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the metrics of one question in the order of `METRICS`, (6,) float64 in [0, 1]."""
    ranking, gold = sample.ranking(weights), sample.gold
    recalls = [recall_at_k(ranking, gold, k) for k in (1, 2, 5, 20)]
    return np.array([*recalls, chain_at_k(ranking, gold, 20), reciprocal_rank(ranking, gold)])


def fit_fusion(
    samples: Sequence[Sample], prior: Mapping[str, float], *, penalty: float = _PENALTY
) -> dict[str, float]:
    """Return weights fitted to samples, near the prior as far as they say nothing else.

    The second hop depends on the weights of the other features, so weights and second hop are computed in
    turn, three times.

    Parameters
    ----------
    samples
        At least one.
    prior
        Feature -> weight.
    penalty
        How strongly weights are held to the prior; see `fit_weights`.
    """
    names = list(FEATURES)
    prior_array = np.array([prior.get(name, 0.0) for name in names])
    current = prior_array
    for _ in range(_N_ROUNDS):
        in_force = dict(zip(names, current.tolist(), strict=True))
        parts = []
        for sample in samples:
            values = sample.values(in_force)
            positive, negative = sample.marks(values @ current)
            parts.append((values, positive, negative, sample.importance))
        choices = joined(parts)
        scale = np.maximum(choices.values.std(axis=0), _LEAST_SPREAD)
        current = fit_weights(choices, prior_array, scale, penalty)
    fitted = {name: float(f"{value:.4g}") for name, value in zip(names, current.tolist(), strict=True)}
    return fitted | {name: prior.get(name, _SIDE_WEIGHT) for name in SIDE_FEATURES}


def cross_validate(
    samples: Sequence[Sample],
    prior: Mapping[str, float],
    groups: Sequence[int],
    *,
    penalty: float = _PENALTY,
    n_repeats: int = _N_REPEATS,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> NDArray[np.float64]:
    """Return each sample's metrics under weights fitted without any of its group, (n, 6) float64 in [0, 1].

    Five folds of whole groups, repeated; the mean over the repeats.
    """
    roots = sorted(set(groups))
    fold_of = np.array(groups)
    metrics = np.zeros((len(samples), len(METRICS)))
    for repeat in range(n_repeats):
        order = np.random.default_rng(seed + repeat).permutation(len(roots))
        for fold in range(_N_FOLDS):
            if progress is not None:
                progress(repeat * _N_FOLDS + fold, n_repeats * _N_FOLDS)
            left_out = np.isin(fold_of, [roots[place] for place in order[fold::_N_FOLDS].tolist()])
            kept = [sample for sample, out in zip(samples, left_out.tolist(), strict=True) if not out]
            fitted = fit_fusion(kept, prior, penalty=penalty)
            for place in np.flatnonzero(left_out).tolist():
                metrics[place] += judge(samples[place], fitted) / n_repeats
    return metrics


def tune(
    samples: Sequence[Sample],
    weights: Mapping[str, float],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Judged:
    """Fit the weights to a user's questions and say whether that is worth it.

    Parameters
    ----------
    samples
        Questions with their candidates.
    weights
        Those in force; the fit stays near them as far as the questions say nothing else.

    Raises
    ------
    ConfigError
        There are too few questions, or groups of them, to tell a gain from chance.
    """
    groups = grouped(samples)
    n_groups = len(set(groups))
    if n_groups < _FEWEST:
        raise ConfigError(
            f"{len(samples)} questions with a supporting passage that retrieval finds arrived, in {n_groups} "
            f"groups that share no passage; at least {_FEWEST} groups are needed to tell a gain from chance: "
            "write more questions, about other passages"
        )
    before = np.array([judge(sample, weights) for sample in samples])
    after = cross_validate(samples, weights, groups, progress=progress)
    difference = 100.0 * (after - before).mean(axis=1)
    gain, error = float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(samples)))
    reason = ""
    if gain <= 0.0:
        reason = "on questions that were left out, the fitted weights find no more than those in force"
    elif gain <= error:
        reason = (
            f"on questions that were left out, the fitted weights find {gain:.2f} points more, within the "
            f"{error:.2f} of chance: more questions would tell"
        )
    fitted = fit_fusion(samples, weights)
    return Judged(_percent(before), _percent(after), gain, error, len(samples), n_groups, fitted, reason)


def _percent(metrics: NDArray[np.float64]) -> dict[str, float]:
    means = 100.0 * metrics.mean(axis=0)
    return {name: round(mean, 1) for name, mean in zip(METRICS, means.tolist(), strict=True)}
