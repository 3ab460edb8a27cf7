"""The conditional logit against its definition, and tuning on samples whose truth is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.errors import ConfigError
from ytrag_core.evaluation.fitting import Choices, _loss, fit_weights, joined
from ytrag_core.evaluation.samples import Sample, grouped
from ytrag_core.evaluation.statistics import bootstrap_intervals
from ytrag_core.evaluation.tuning import METRICS, cross_validate, fit_fusion, judge, tune
from ytrag_core.retrieval.features import PassageFeatures
from ytrag_core.retrieval.weights import FEATURES, SIDE_FEATURES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.knowledge_base import KnowledgeBase


def choices(seed: int, weights: NDArray[np.float64], n_questions: int = 40) -> Choices:
    draw = np.random.default_rng(seed)
    parts = []
    for _ in range(n_questions):
        values = draw.normal(size=(draw.integers(3, 12), weights.shape[0]))
        scores = values @ weights + draw.gumbel(size=values.shape[0])
        positive = scores == scores.max()
        negative = ~positive
        negative[draw.integers(values.shape[0])] = False
        parts.append((values, positive, negative, float(draw.choice([0.5, 1.0]))))
    return joined(parts)


def plain_loss(data: Choices, weights: NDArray[np.float64]) -> float:
    ends = [*data.starts[1:].tolist(), data.values.shape[0]]
    total = 0.0
    for start, end, importance in zip(data.starts.tolist(), ends, data.importance.tolist(), strict=True):
        rows = range(start, end)
        scores = {row: float(data.values[row] @ weights) for row in rows}
        others = sum(math.exp(scores[row]) for row in rows if data.negative[row])
        wanted = [row for row in rows if data.positive[row]]
        for row in wanted:
            share = math.exp(scores[row]) / (math.exp(scores[row]) + others)
            total -= importance / len(wanted) * math.log(share)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_loss_gradient_and_curvature(seed: int) -> None:
    data = choices(seed, np.array([1.0, 0.5, 0.0]))
    prior, scale = np.array([0.5, 0.0, 0.2]), np.array([1.0, 2.0, 0.5])
    at, step = np.array([0.7, 0.3, 0.1]), 1e-5
    value, gradient, curvature = _loss(data, at, prior, scale, 2.0)
    assert value == pytest.approx(plain_loss(data, at) + (((at - prior) * scale) ** 2).sum())
    for axis in range(3):
        moved = step * np.eye(3)[axis]
        above, below = (_loss(data, at + sign * moved, prior, scale, 2.0) for sign in (1, -1))
        assert gradient[axis] == pytest.approx((above[0] - below[0]) / (2 * step), rel=1e-4)
        assert curvature[axis] == pytest.approx((above[1] - below[1]) / (2 * step), rel=1e-4, abs=1e-4)


def test_the_fit_finds_the_weights_behind_the_choices() -> None:
    truth = np.array([1.5, 0.7, 0.0])
    found = fit_weights(choices(5, truth, 3000), np.zeros(3), np.ones(3), 0.01)
    assert found == pytest.approx(truth, abs=0.12)


def test_no_weight_is_negative_and_the_fit_is_least() -> None:
    data = choices(7, np.array([1.0, -1.0, 0.3]))
    found = fit_weights(data, np.zeros(3), np.ones(3), 1.0)
    assert found[1] == 0.0
    least = _loss(data, found, np.zeros(3), np.ones(3), 1.0)[0]
    for nudge in np.random.default_rng(0).normal(scale=0.05, size=(50, 3)):
        near = np.maximum(found + nudge, 0.0)
        assert _loss(data, near, np.zeros(3), np.ones(3), 1.0)[0] >= least - 1e-9


def test_a_strong_penalty_keeps_the_prior() -> None:
    prior = np.array([0.4, 0.3, 0.2])
    found = fit_weights(choices(9, np.ones(3)), prior, np.ones(3), 1e9)
    assert found == pytest.approx(prior, abs=1e-5)


def sample(kb: KnowledgeBase, number: int, wanted_by: str, draw: np.random.Generator) -> Sample:
    """Return a sample in which one feature tells the gold passage, and the others tell nothing."""
    rows = np.arange(30, dtype=np.int32)
    values = {name: draw.normal(size=30).astype(np.float32) for name in FEATURES if name not in ("bridge",)}
    gold = int(draw.integers(30))
    values[wanted_by][gold] += 4.0
    names = np.arange(kb.view.n_entities, dtype=np.int32)
    passages = tuple(f"q{number}-{row}" for row in rows.tolist())
    return Sample(str(number), kb.view, PassageFeatures(rows, values, names), passages, (passages[gold],))


def samples(kb: KnowledgeBase, n: int, wanted_by: str, seed: int = 0) -> list[Sample]:
    draw = np.random.default_rng(seed)
    return [sample(kb, number, wanted_by, draw) for number in range(n)]


UNTUNED = dict.fromkeys(FEATURES, 0.3)


def test_tuning_finds_what_tells(sample_kb: KnowledgeBase) -> None:
    judged = tune(samples(sample_kb, 60, "title"), UNTUNED)
    assert judged.reason == ""
    assert judged.gain > judged.error > 0
    assert judged.after["recall@1"] > judged.before["recall@1"] + 20
    assert max(judged.weights, key=lambda name: judged.weights[name]) == "title"
    assert judged.weights.keys() == FEATURES.keys() | SIDE_FEATURES.keys()
    assert judged.to_json()["worth_it"]
    assert tune(samples(sample_kb, 60, "title"), UNTUNED).to_json() == judged.to_json()


def test_tuning_what_is_tuned_is_not_worth_it(sample_kb: KnowledgeBase) -> None:
    data = samples(sample_kb, 60, "title")
    fitted = fit_fusion(data, UNTUNED, penalty=0.1)
    judged = tune(data, fitted)
    assert judged.reason
    assert judged.to_json()["reason"] == judged.reason
    assert not judged.to_json()["worth_it"]


def test_too_few_questions_are_refused(sample_kb: KnowledgeBase) -> None:
    with pytest.raises(ConfigError, match="at least 20"):
        tune(samples(sample_kb, 19, "title"), UNTUNED)


def test_no_fold_knows_what_it_judges(sample_kb: KnowledgeBase) -> None:
    """All questions share one passage, so none may teach another: five folds of one group fit to nothing."""
    data = samples(sample_kb, 25, "title")
    groups = grouped(data)
    assert sorted(groups) == list(range(25))
    shared = [Sample(s.id, s.view, s.features, s.passages, (*s.gold, "common")) for s in data]
    assert len(set(grouped(shared))) == 1
    metrics = cross_validate(data, UNTUNED, groups, n_repeats=1)
    assert metrics.shape == (25, len(METRICS))
    assert ((metrics >= 0) & (metrics <= 1)).all()


def test_pieces_of_a_gold_passage_are_not_held_against_each_other(sample_kb: KnowledgeBase) -> None:
    one = samples(sample_kb, 1, "walk")[0]
    pieces = Sample(one.id, one.view, one.features, ("a", "a", "b", *one.passages[3:]), ("a",))
    positive, negative = pieces.marks(np.arange(30.0))
    assert np.flatnonzero(positive).tolist() == [1]
    assert np.flatnonzero(~negative).tolist() == [0, 1]
    assert pieces.ranking(UNTUNED).count("a") == 1
    assert judge(pieces, UNTUNED).shape == (len(METRICS),)


def test_intervals_hold_the_mean_and_are_seeded() -> None:
    values = np.random.default_rng(1).random((80, 3))
    low, high = bootstrap_intervals(values)
    assert (low < values.mean(axis=0)).all()
    assert (values.mean(axis=0) < high).all()
    assert np.array_equal(bootstrap_intervals(values), bootstrap_intervals(values, seed=0))
    assert not np.array_equal(bootstrap_intervals(values), bootstrap_intervals(values, seed=1))
    half = (high - low)[0] / 2
    assert half == pytest.approx(1.96 * values[:, 0].std() / math.sqrt(80), rel=0.15)
