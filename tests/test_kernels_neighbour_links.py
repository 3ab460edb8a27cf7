"""Kernels that link a proximity graph, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ytrag_core.kernels.neighbour_links import add_back_links, choose_links, look_around, nearest_in_set


@settings(max_examples=60, deadline=None)
@given(m=st.integers(0, 12), k=st.integers(1, 6), first=st.integers(0, 3), seed=st.integers(0, 10**6))
def test_nearest_in_set_by_sorting(m: int, k: int, first: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    products = rng.integers(-3, 4, (m, m)).astype(np.float32)
    members = rng.permutation(20)[:m].astype(np.int32)
    ids = np.full((20, 10), -7, np.int32)
    scores = np.full((20, 10), -7, np.float32)
    nearest_in_set(products, members, first, k, ids, scores)
    for row in range(20):
        wanted: list[tuple[int, float]] = []
        if row in members:
            i = members.tolist().index(row)
            others = sorted((j for j in range(m) if j != i), key=lambda j: (-products[i, j], j))[:k]
            wanted = [(int(members[j]), float(products[i, j])) for j in others]
        found = list(zip(ids[row].tolist(), scores[row].tolist(), strict=True))
        assert found == [(-7, -7.0)] * first + wanted + [(-7, -7.0)] * (10 - first - len(wanted))


def chosen_by_definition(
    rows: list[list[int]], candidates: list[int], scores: list[float], n_links: int
) -> list[int]:
    kept: list[int] = []
    for candidate, score in sorted_by_definition(candidates, scores):
        alike = [sum(a * b for a, b in zip(rows[candidate], rows[one], strict=True)) for one in kept]
        if len(kept) < n_links and all(product <= score for product in alike):
            kept.append(candidate)
    return kept + [-1] * (n_links - len(kept))


def sorted_by_definition(candidates: list[int], scores: list[float]) -> list[tuple[int, float]]:
    found: dict[int, float] = {}
    for place in sorted(range(len(candidates)), key=lambda place: -scores[place]):
        if candidates[place] >= 0:
            found.setdefault(candidates[place], scores[place])
    return list(found.items())


def drawn(seed: int) -> tuple[np.random.Generator, np.ndarray[tuple[int, ...], np.dtype[np.int64]]]:
    """Return whole numbers, whose products are exact."""
    rng = np.random.default_rng(seed)
    return rng, rng.integers(-3, 4, (int(rng.integers(2, 9)), 3))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_links=st.integers(1, 5))
def test_choose_links_by_definition(seed: int, n_links: int) -> None:
    rng, rows = drawn(seed)
    n = len(rows)
    ids = rng.integers(-1, n, (n, 6)).astype(np.int32)
    scores = np.take_along_axis(rows @ rows.T, np.maximum(ids, 0), axis=1).astype(np.float32)
    links, near = np.full((n, n_links), -9, np.int32), np.full((n, 2), -9, np.int32)
    near_scores = np.zeros((n, 2), np.float32)
    start = int(rng.integers(0, n))
    choose_links(rows.astype(np.float32), ids, scores, start, n, near, near_scores, links)
    assert (links[:start] == -9).all()
    assert (near[:start] == -9).all()
    for node in range(start, n):
        wanted = chosen_by_definition(rows.tolist(), ids[node].tolist(), scores[node].tolist(), n_links)
        assert links[node].tolist() == wanted
        nearest = sorted_by_definition(ids[node].tolist(), scores[node].tolist())[:2]
        nearest += [(-1, -np.inf)] * (2 - len(nearest))
        assert list(zip(near[node].tolist(), near_scores[node].tolist(), strict=True)) == nearest


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n_links=st.integers(1, 5))
def test_add_back_links_by_definition(seed: int, n_links: int) -> None:
    rng, rows = drawn(seed)
    n = len(rows)
    own = [sorted(rng.permutation([i for i in range(n) if i != node])[:2].tolist()) for node in range(n)]
    links = np.full((n, 3), -1, np.int32)
    for node, some in enumerate(own):
        links[node, : len(some)] = some
    back = [[source for source in range(n) if node in own[source]] for node in range(n)]
    indptr = np.concatenate([[0], np.cumsum([len(sources) for sources in back])]).astype(np.int64)
    sources = np.array([source for some in back for source in some], np.int32)
    found = np.full((n, n_links), -9, np.int32)
    add_back_links(rows.astype(np.float32), links, indptr, sources, 0, n, found)
    for node in range(n):
        both = own[node] + [source for source in back[node] if source not in own[node]]
        scores = [float(rows[node] @ rows[other]) for other in both]
        if len(both) > n_links:
            wanted = chosen_by_definition(rows.tolist(), both, scores, n_links)
        else:
            wanted = [one for one, _ in sorted_by_definition(both, scores)] + [-1] * (n_links - len(both))
        assert found[node].tolist() == wanted


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), reach=st.integers(0, 3))
def test_look_around_by_definition(seed: int, reach: int) -> None:
    rng, rows = drawn(seed)
    n = len(rows)
    products = rows @ rows.T
    links = np.full((n, 3), -1, np.int32)
    near = np.full((n, 2), -1, np.int32)
    for node in range(n):
        some = rng.permutation([i for i in range(n) if i != node])[: int(rng.integers(0, 4))]
        links[node, : len(some)] = some
        near[node, :1] = rng.choice([i for i in range(n) if i != node])
    scores = np.where(near < 0, -np.inf, np.take_along_axis(products, np.maximum(near, 0), 1)).astype(
        np.float32
    )
    found, found_scores = near.copy(), scores.copy()
    look_around(rows.astype(np.float32), links, reach, 0, n, found, found_scores)
    for node in range(n):
        followed = [link for link in links[node, :reach].tolist() if link >= 0]
        reached = {other for link in followed for other in links[link, :reach].tolist()} - {-1, node}
        known = sorted({*reached, int(near[node, 0])}, key=lambda other: -products[node, other])
        assert found_scores[node].tolist() == sorted(found_scores[node].tolist(), reverse=True)
        wanted = [float(products[node, other]) for other in known[:2]]
        assert found_scores[node].tolist() == wanted + [-np.inf] * (2 - len(wanted))
        kept = [other for other in found[node].tolist() if other >= 0]
        assert len(set(kept)) == len(kept)
        assert set(kept) <= set(known)
        assert [float(products[node, other]) for other in kept] == wanted


def test_wrong_shapes_are_errors() -> None:
    rows = np.eye(3, dtype=np.float32)
    ids, scores = np.zeros((3, 4), np.int32), np.zeros((3, 4), np.float32)
    members = np.arange(3, dtype=np.int32)
    with pytest.raises(ValueError, match="square"):
        nearest_in_set(rows[:2], members, 0, 2, ids, scores)
    with pytest.raises(ValueError, match="columns"):
        nearest_in_set(rows, members, 3, 2, ids, scores)
    with pytest.raises(ValueError, match="length"):
        choose_links(rows, ids[:2], scores, 0, 3, ids, scores, ids)
    with pytest.raises(ValueError, match="run"):
        choose_links(rows, ids, scores, 0, 4, ids, scores, ids)
    with pytest.raises(ValueError, match="length"):
        add_back_links(rows, ids, np.zeros(3, np.int64), members, 0, 3, ids)
    with pytest.raises(ValueError, match="run"):
        add_back_links(rows, ids, np.zeros(4, np.int64), members, -1, 3, ids)
    with pytest.raises(ValueError, match="shape"):
        choose_links(rows, ids, scores, 0, 3, ids, scores[:, :2].copy(), ids)
    with pytest.raises(ValueError, match="length"):
        look_around(rows, ids[:2], 1, 0, 3, ids, scores)
    with pytest.raises(ValueError, match="shape"):
        look_around(rows, ids, 1, 0, 3, ids, scores[:, :2].copy())
    with pytest.raises(ValueError, match="run"):
        look_around(rows, ids, 1, 0, 4, ids, scores)
