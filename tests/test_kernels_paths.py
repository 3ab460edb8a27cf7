"""The kernels that score and choose longer paths against plain Python, and what they refuse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.path_parts import N_RELATIONS, WIDTH, bits, unit_halves, unit_query
from ytrag_core.kernels.path_words import step_words
from ytrag_core.kernels.paths import longer_paths

if TYPE_CHECKING:
    from numpy.typing import NDArray

GAIN = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Steps that prolong paths, and all that scores them; nodes come first in `names`, then relations."""

    names: NDArray[np.float16]
    facts: NDArray[np.float16]
    queries: NDArray[np.float32]
    words: list[set[int]]
    places: list[list[int]]
    weight: NDArray[np.float32]
    steps: NDArray[np.int32]
    end: NDArray[np.int32]
    owner: NDArray[np.int32]
    cost: NDArray[np.float32]
    sums: NDArray[np.float32]
    covered: NDArray[np.uint64]
    matched: NDArray[np.float32]

    @property
    def n_nodes(self) -> int:
        return len(self.names) - N_RELATIONS

    @property
    def asked(self) -> float:
        return sum(float(weight) * len(own) for weight, own in zip(self.weight, self.places, strict=True))


def scored(
    seed: int, *, n_steps: int = 12, has_facts: bool = False, places: list[list[int]] | None = None
) -> Scored:
    rng = np.random.default_rng(seed)
    n_nodes, n_triples, n_paths = 6, 9, 3
    places = [[0, 1], [2], [3]] if places is None else places
    steps = np.stack([rng.integers(0, n, n_steps) for n in (n_triples, N_RELATIONS, n_nodes)], axis=1)
    return Scored(
        names=unit_halves(rng, n_nodes + N_RELATIONS),
        facts=unit_halves(rng, n_triples if has_facts else 0),
        queries=np.stack([unit_query(rng), unit_query(rng)]),
        words=[
            {word for word in range(min(len(places), 64)) if rng.random() < 0.5} for _ in range(N_RELATIONS)
        ],
        places=places,
        weight=rng.uniform(0.5, 3, len(places)).astype(np.float32),
        steps=steps.astype(np.int32),
        end=rng.integers(0, n_nodes, n_paths).astype(np.int32),
        owner=np.sort(rng.integers(0, n_paths, n_steps)).astype(np.int32),
        cost=rng.uniform(0, 0.5, n_steps).astype(np.float32),
        sums=rng.normal(size=(2, n_paths, WIDTH)).astype(np.float32),
        covered=np.array([0, 1, 4], np.uint64),
        matched=rng.uniform(0, 2, n_paths).astype(np.float32),
    )


def said(given: Scored) -> NDArray[np.float32]:
    """What all words of each relation count; each has one word more that is not asked for."""
    return np.array(
        [1 + sum(float(given.weight[word]) for word in words) for words in given.words], np.float32
    )


def worded(given: Scored) -> tuple[Any, ...]:
    return step_words(
        np.array([bits(words) for words in given.words], np.uint64),
        said(given),
        np.array([bits(own) for own in given.places], np.uint64),
        given.weight,
        np.float32(given.asked),
        given.steps,
        given.owner,
        given.covered,
        given.matched,
        given.matched,
    )


def best_of(
    given: Scored, base: NDArray[np.float32], max_scored: int = 99, beam: int = 99
) -> tuple[Any, ...]:
    return longer_paths(
        given.names.view(np.uint16),
        given.facts.view(np.uint16),
        np.arange(given.n_nodes, dtype=np.int32),
        np.arange(given.n_nodes, given.n_nodes + N_RELATIONS, dtype=np.int32),
        given.queries[0],
        given.queries[1],
        given.steps,
        given.end,
        given.owner,
        base,
        given.sums[0],
        given.sums[1],
        max_scored,
        beam,
    )


def prolonged(given: Scored, max_scored: int = 99, beam: int = 99) -> tuple[Any, ...]:
    """Return the best longer paths: as they are chosen, their vectors, their words."""
    agreement, *words = worded(given)
    chosen, *scores_and_sums = best_of(given, np.float32(GAIN) * agreement - given.cost, max_scored, beam)
    return (chosen, *scores_and_sums, *(column[chosen] for column in words))


@dataclass(frozen=True, slots=True, eq=False)
class Longer:
    """A path with a step, from the definition."""

    score: float
    rough: float
    fact: NDArray[np.float64]
    relation: NDArray[np.float64]
    covered: int
    matched: float
    said: float


def cosine(total: NDArray[np.float64], query: NDArray[np.float32]) -> float:
    return float(total @ query / np.linalg.norm(total))


def longer(given: Scored, step: int) -> Longer:
    triple, relation, other = given.steps[step].tolist()
    path, names = int(given.owner[step]), given.names.astype(np.float64)
    named = names[given.n_nodes + relation]
    parts = names[given.end[path]] + named + names[other]
    vector = given.facts[triple].astype(np.float64) if len(given.facts) else parts / np.linalg.norm(parts)
    loose = vector if len(given.facts) else parts / 3
    now = int(given.covered[path])
    matched = float(given.matched[path])
    for word, own in enumerate(given.places):
        free = [place for place in own if not now >> place & 1]
        if word in given.words[relation] and free:
            now |= 1 << free[0]
            matched += float(given.weight[word])
    all_said = float(given.matched[path]) + float(said(given)[relation])
    base = GAIN * 2 * matched / max(given.asked + all_said, 1e-12) - float(given.cost[step])
    question, residual = given.queries
    fact, named_sum = given.sums[0, path] + vector, given.sums[1, path] + named
    rough = base + float(loose @ question + named @ residual + given.sums[0, path] @ question)
    score = base + cosine(fact, question) + cosine(named_sum, residual)
    return Longer(score, rough, fact, named_sum, now, matched, all_said)


@settings(deadline=None)
@given(st.integers(0, 999), st.integers(0, 12), st.booleans(), st.integers(1, 15), st.integers(1, 15))
def test_longer_paths(seed: int, n_steps: int, has_facts: bool, max_scored: int, beam: int) -> None:
    given = scored(seed, n_steps=n_steps, has_facts=has_facts)
    chosen, scores, facts, relations, covered, matched, all_said = prolonged(given, max_scored, beam)
    wanted = [longer(given, step) for step in range(n_steps)]
    likely = sorted(range(n_steps), key=lambda step: -wanted[step].rough)[:max_scored]
    best = sorted(likely, key=lambda step: -wanted[step].score)[:beam]
    assert scores.tolist() == pytest.approx([wanted[step].score for step in best], abs=1e-4)
    assert set(chosen.tolist()) == set(best)
    for slot, step in enumerate(chosen.tolist()):
        assert scores[slot] == pytest.approx(wanted[step].score, abs=1e-4)
        np.testing.assert_allclose(facts[slot], wanted[step].fact, atol=1e-4)
        np.testing.assert_allclose(relations[slot], wanted[step].relation, atol=1e-4)
        assert int(covered[slot]) == wanted[step].covered
        assert matched[slot] == pytest.approx(wanted[step].matched, abs=1e-4)
        assert all_said[slot] == pytest.approx(wanted[step].said, abs=1e-4)


@pytest.mark.parametrize("max_scored", [3, 99])
def test_of_equal_steps_the_first_are_kept(max_scored: int) -> None:
    given = scored(1, n_steps=8)
    same = replace(
        given,
        steps=np.repeat(given.steps[:1], 8, axis=0),
        owner=np.zeros(8, np.int32),
        cost=np.zeros(8, np.float32),
    )
    assert prolonged(same, max_scored, 3)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("has_facts", [False, True])
def test_sums_of_nothing_score_zero(has_facts: bool) -> None:
    given = scored(2, n_steps=1, has_facts=has_facts, places=[])
    zero = np.zeros_like
    names, facts = zero(given.names), zero(given.facts)
    empty = replace(given, names=names, facts=facts, sums=zero(given.sums), cost=zero(given.cost))
    assert prolonged(replace(empty, matched=zero(given.matched)))[1].tolist() == [0.0]


def test_all_64_words() -> None:
    given = scored(3, places=[[place] for place in range(64)])
    scores = prolonged(given)[1]
    assert scores.tolist() == pytest.approx(
        sorted((longer(given, step).score for step in range(12)), reverse=True), abs=1e-4
    )


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        (0, 9, "outside the graph"),
        (0, -1, "outside the graph"),
        (1, N_RELATIONS, "outside the graph"),
        (1, -1, "outside the graph"),
        (2, 6, "outside the graph"),
        (2, -1, "outside the graph"),
    ],
)
def test_a_step_outside_the_graph_is_refused(column: int, value: int, message: str) -> None:
    given = scored(4, has_facts=True)
    steps = given.steps.copy()
    steps[7, column] = value
    outside = replace(given, steps=steps)
    with pytest.raises(ValueError, match=message):
        best_of(outside, given.cost)
    if column == 1:
        with pytest.raises(ValueError, match=message):
            worded(outside)


def test_paths_outside_the_graph_limits_below_one_and_too_many_words_are_refused() -> None:
    given = scored(5)
    astray = replace(given, owner=given.owner + np.int32(3))
    with pytest.raises(ValueError, match="prolongs no path"):
        best_of(astray, given.cost)
    with pytest.raises(ValueError, match="prolongs no path"):
        worded(astray)
    with pytest.raises(ValueError, match="end of a path"):
        prolonged(replace(given, end=given.end - np.int32(6)))
    with pytest.raises(ValueError, match="at most 64"):
        prolonged(scored(5, places=[[place % 64] for place in range(65)]))
    for limits in ({"max_scored": 0}, {"beam": 0}):
        with pytest.raises(ValueError, match="1 or more"):
            prolonged(given, **limits)
