"""The kernels that choose the steps of paths against plain Python: caps, likely entries, steps."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.path_parts import N_RELATIONS, WIDTH, unit_halves, unit_query
from ytrag_core.kernels.path_steps import (
    N_LEVELS,
    half_product,
    level_of,
    likely_entries,
    path_steps,
    row_cap,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


@given(st.integers(0, 99), st.integers(0, 4))
def test_half_product(seed: int, row: int) -> None:
    rng = np.random.default_rng(seed)
    rows, vector = unit_halves(rng, 5), unit_query(rng)
    product = half_product(rows.view(np.uint16), row, vector)
    assert product == pytest.approx(float(rows[row].astype(np.float64) @ vector), abs=1e-6)


@pytest.mark.parametrize(
    ("value", "level"),
    [(-1.0, 0), (0.0, 0), (0.49, 4), (1.0, 10), (9.0, N_LEVELS - 1), (float("nan"), 0), (float("inf"), 63)],
)
def test_level_of_a_likeness(value: float, level: int) -> None:
    assert level_of(np.float32(value), np.float32(0), np.float32(10)) == level


@given(st.lists(st.integers(0, 40), max_size=9), st.integers(0, 120))
def test_a_cap_shares_what_may_be_looked_at(lengths: list[int], total: int) -> None:
    cap = row_cap(np.array(lengths, np.int64), total)
    assert sum(min(length, cap) for length in lengths) <= total
    if max(lengths, default=0) <= cap:
        assert cap == max(lengths, default=0)
    else:
        assert sum(min(length, cap + 1) for length in lengths) > total


def level(value: float, values: list[float]) -> int:
    width = max(max(values) - min(values), 1e-12)
    return int((value - min(values)) * (N_LEVELS - 1) / width)


@given(
    st.lists(st.integers(0, N_RELATIONS - 1), min_size=1, max_size=60),
    st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), min_size=N_RELATIONS, max_size=N_RELATIONS),
    st.data(),
)
def test_likely_entries(relation: list[int], likeness: list[float], data: st.DataObject) -> None:
    n = data.draw(st.integers(0, len(relation)))
    chosen = np.full(n, -1, np.int64)
    likely_entries(np.array(relation, np.int32), np.array(likeness, np.float32), chosen)
    entries = chosen.tolist()
    assert entries == sorted(set(entries))
    assert all(0 <= entry < len(relation) for entry in entries)
    values = [likeness[one] for one in relation]
    levels = [level(value, values) for value in values]
    present, share, room = Counter(levels), Counter[int](), n
    for one in sorted(present, reverse=True):
        share[one] = min(present[one], (room + 1) // 2)
        room -= share[one]
    for one in sorted(present, reverse=True):
        more = min(present[one] - share[one], room)
        share[one] += more
        room -= more
    assert +Counter(levels[entry] for entry in entries) == +share
    for one, count in share.items():
        among = [
            place
            for place, entry in enumerate(e for e, at in enumerate(levels) if at == one)
            if entry in entries
        ]
        gaps = np.diff([-1, *among]) if count else np.zeros(0)
        assert all(gap <= -(-present[one] // max(count, 1)) for gap in gaps.tolist())


def test_more_room_than_entries_is_refused() -> None:
    with pytest.raises(ValueError, match="more entries than the row"):
        likely_entries(np.zeros(2, np.int32), np.zeros(1, np.float32), np.zeros(3, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """CSR rows of relations and other ends, the vectors of relations, a query."""

    entries: list[list[tuple[int, int]]]
    vectors: NDArray[np.float16]
    residual: NDArray[np.float32]
    agreement: NDArray[np.float32]

    def likeness(self, relation: int) -> float:
        return float(self.vectors[relation].astype(np.float64) @ self.residual) + float(
            self.agreement[relation]
        )


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    n = draw(st.integers(1, 5))
    entry = st.tuples(st.integers(0, N_RELATIONS - 1), st.integers(0, n - 1))
    entries = draw(st.lists(st.lists(entry, max_size=12), min_size=n, max_size=n))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    vectors, residual = unit_halves(rng, N_RELATIONS), unit_query(rng)
    return Rows(entries, vectors, residual, rng.random(N_RELATIONS).astype(np.float32))


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """What `path_steps` returned and what it left in its two arrays of relations."""

    positions: list[int]
    owner: list[int]
    fan_out: list[float]
    likeness: NDArray[np.float32]
    tally: NDArray[np.int32]


def steps_of(
    given: Rows, nodes: list[list[int]], row_limit: int, scan_limit: int, n_passed: int | None = None
) -> Steps:
    flat = [entry for row in given.entries for entry in row]
    likeness, tally = np.zeros(N_RELATIONS, np.float32), np.zeros(N_RELATIONS, np.int32)
    array = np.array(nodes, np.int32).reshape(len(nodes), -1 if nodes else 1)
    positions, owner, fan_out = path_steps(
        np.cumsum([0, *map(len, given.entries)]).astype(np.int64),
        np.array([other for _, other in flat], np.int32),
        np.array([relation for relation, _ in flat], np.int32),
        array,
        array.shape[1] if n_passed is None else n_passed,
        row_limit,
        scan_limit,
        given.vectors.view(np.uint16),
        np.arange(N_RELATIONS, dtype=np.int32),
        given.residual,
        given.agreement,
        np.empty(0, np.bool_),
        likeness,
        tally,
    )
    return Steps(positions.tolist(), owner.tolist(), fan_out.tolist(), likeness, tally)


@st.composite
def paths_of(draw: st.DrawFn, n_nodes: int) -> list[list[int]]:
    n_passed = draw(st.integers(1, min(3, n_nodes)))
    path = st.permutations(range(n_nodes)).map(lambda order: order[:n_passed])
    return draw(st.lists(path, min_size=1, max_size=4))


@settings(deadline=None)
@given(rows(), st.data(), st.integers(1, 14), st.integers(1, 60))
def test_steps_are_the_entries_of_rows_without_those_that_lead_back(
    given: Rows, data: st.DataObject, row_limit: int, scan_limit: int
) -> None:
    paths = data.draw(paths_of(len(given.entries)))
    found = steps_of(given, paths, row_limit, scan_limit)
    first = np.cumsum([0, *map(len, given.entries)]).tolist()
    ends = sorted({path[-1] for path in paths})
    cap = max(row_cap(np.array([len(given.entries[end]) for end in ends], np.int64), scan_limit), row_limit)
    wanted: list[tuple[int, int, float]] = []
    known: set[int] = set()
    for owner, path in enumerate(paths):
        row = given.entries[path[-1]]
        n_seen = min(len(row), cap)
        seen = [j * len(row) // n_seen for j in range(n_seen)]
        relations = [row[entry][0] for entry in seen]
        taken = np.arange(min(n_seen, row_limit))
        if n_seen > row_limit:
            known |= set(relations)
            likeness = np.array([given.likeness(one) for one in range(N_RELATIONS)], np.float32)
            likely_entries(np.array(relations, np.int32), likeness, taken)
        for slot in taken.tolist():
            relation, other = row[seen[slot]]
            if other not in path:
                fan_out = relations.count(relation) * len(row) / n_seen
                wanted.append((first[path[-1]] + seen[slot], owner, fan_out))
    assert [*zip(found.positions, found.owner, strict=True)] == [step[:2] for step in wanted]
    assert found.fan_out == pytest.approx([step[2] for step in wanted], rel=1e-5)
    assert not found.tally.any()
    assert set(np.flatnonzero(found.likeness).tolist()) == known
    for relation in known:
        assert found.likeness[relation] == pytest.approx(given.likeness(relation), abs=1e-5)


def hub(n: int) -> Rows:
    """A node with n entries: one in ten of relation 1, the others of relation 0; the question asks for 1."""
    vectors = np.eye(N_RELATIONS, WIDTH).astype(np.float16)
    entries = [(int(entry % 10 == 3), 1 + entry) for entry in range(n)]
    residual = vectors[1].astype(np.float32)
    return Rows([entries, *([] for _ in range(n))], vectors, residual, np.zeros(N_RELATIONS, np.float32))


def test_of_a_long_row_the_asked_relation_gets_most_and_is_spread() -> None:
    found = steps_of(hub(1000), [[0]], 8, 1000)
    asked = [position for position in found.positions if position % 10 == 3]
    assert len(found.positions) == 8
    assert len(asked) == 6
    assert max(asked) - min(asked) >= 700
    assert {round(value) for value in found.fan_out} == {100, 900}


def test_words_alone_make_a_relation_likely() -> None:
    given = replace(hub(1000), residual=np.zeros(WIDTH, np.float32))
    even = steps_of(given, [[0]], 8, 1000)
    said = steps_of(replace(given, agreement=np.array([0, 1, 0, 0], np.float32)), [[0]], 8, 1000)
    assert sum(position % 10 == 3 for position in said.positions) == 6
    assert sum(position % 10 == 3 for position in even.positions) < 4


def test_a_row_longer_than_is_looked_at_is_sampled_and_its_fan_out_estimated() -> None:
    found = steps_of(hub(1000), [[0]], 8, 307)
    assert len(found.positions) == 8
    asked = [value for value, at in zip(found.fan_out, found.positions, strict=True) if at % 10 == 3]
    assert asked
    assert all(60 <= value <= 140 for value in asked)
    few = steps_of(hub(1000), [[0]], 8, 1)
    assert few.positions == [125 * j for j in range(8)]


def test_paths_that_end_at_one_node_get_the_same_entries() -> None:
    found = steps_of(hub(200), [[5, 0], [7, 0], [5, 0]], 6, 50)
    steps = [
        [at for at, path in zip(found.positions, found.owner, strict=True) if path == one] for one in range(3)
    ]
    assert steps[0] == steps[2]
    assert set(steps[0]) - {4} == set(steps[1]) - {6}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [[-1]]}, "outside the graph"),
        ({"nodes": [[4]]}, "outside the graph"),
        ({"row_limit": 0}, "1 or more"),
        ({"scan_limit": 0}, "1 or more"),
        ({"n_passed": 0}, "1 or more"),
        ({"n_passed": 2}, "1 or more"),
    ],
)
def test_steps_outside_the_graph_and_limits_below_one_are_refused(
    change: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"nodes": [[0]], "row_limit": 1, "scan_limit": 1, **change}
    with pytest.raises(ValueError, match=message):
        steps_of(hub(3), **arguments)


@pytest.mark.parametrize("change", ["agreement", "residual"])
def test_arrays_that_do_not_fit_are_refused(change: str) -> None:
    short: dict[str, Any] = {change: np.zeros(3, np.float32)}
    with pytest.raises(ValueError, match="differ in length"):
        steps_of(replace(hub(3), **short), [[0]], 1, 1)


def test_without_paths_there_are_no_steps() -> None:
    assert steps_of(hub(3), [], 1, 1, n_passed=1).positions == []
