"""Chains of triples, prolonged by a step and scored as a whole against a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro, rw
from .instructions import widen

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((ro(uint16, 2), int64, rw(float32)))
def widen_row(bits: NDArray[np.uint16], row: int, out_row: NDArray[np.float32]) -> None:
    """Copy one float16 row, given by its bits, into a float32 array of its width.

    Parameters
    ----------
    bits : (n, d) uint16
    row : int in [0, n)
    out_row : (d,) float32

    Notes
    -----
    2 bytes read and 4 written for an element.
    """
    for column in range(bits.shape[1]):
        out_row[column] = widen(bits[row, column])


@kernel((ro(float32), ro(float32)), fastmath=frozenset({"nsz", "contract", "reassoc"}))
def dot(left: NDArray[np.float32], right: NDArray[np.float32]) -> np.float32:
    """Return the dot product of two arrays of one length.

    Parameters
    ----------
    left, right : (d,) float32

    Returns
    -------
    float32

    Notes
    -----
    8 bytes and 2 flops for an element.
    """
    total = np.float32(0)
    for column in range(left.shape[0]):
        total += left[column] * right[column]
    return total


@kernel(
    (
        ro(uint16, 2), ro(uint16, 2), ro(int32), ro(int32),
        int32, int32, int32, int32, rw(float32), rw(float32),
    ),
    fastmath=frozenset({"nsz", "contract", "reassoc"}),
)  # fmt: skip
def triple_vector(
    string_bits: NDArray[np.uint16],
    triple_bits: NDArray[np.uint16],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    triple: int,
    relation: int,
    end: int,
    other: int,
    out_fact: NDArray[np.float32],
    out_relation: NDArray[np.float32],
) -> None:
    """Write the vectors of a triple and of its relation.

    Parameters
    ----------
    string_bits, triple_bits : (n_strings, d) and (n_triples or 0, d) uint16
        Float16 vectors of names and relation texts, and of triples; without these a triple's vector is the
        unit sum of its parts'.
    node_string, relation_string : int32
        Rows of nodes and relations in `string_bits`.
    triple, relation, end, other : int32
        The triple, its relation and its two nodes; in range, not checked.
    out_fact, out_relation : (d,) float32

    Notes
    -----
    2 bytes a part and element read, 8 written.
    """
    widen_row(string_bits, int(relation_string[relation]), out_relation)
    if triple_bits.shape[0] > 0:
        widen_row(triple_bits, triple, out_fact)
        return
    d = out_fact.shape[0]
    part = np.empty(d, np.float32)
    widen_row(string_bits, int(node_string[end]), out_fact)
    widen_row(string_bits, int(node_string[other]), part)
    total = np.float32(0)
    for column in range(d):
        out_fact[column] += part[column] + out_relation[column]
        total += out_fact[column] * out_fact[column]
    inverse = np.float32(1) / max(np.sqrt(total), np.float32(1e-12))
    for column in range(d):
        out_fact[column] *= inverse


@kernel((ro(float32), ro(float32), ro(float32)))
def cosine_of_sum(
    left: NDArray[np.float32], right: NDArray[np.float32], query: NDArray[np.float32]
) -> np.float32:
    """Return the cosine of a unit vector and the sum of two vectors.

    Parameters
    ----------
    left, right, query : (d,) float32

    Returns
    -------
    float32

    Notes
    -----
    10 d flops, no sum is stored.
    """
    square = dot(left, left) + np.float32(2) * dot(left, right) + dot(right, right)
    length = np.float32(np.sqrt(max(square, np.float32(0))))
    return (dot(left, query) + dot(right, query)) / max(length, np.float32(1e-12))


@kernel(
    (
        ro(uint16, 2), ro(uint16, 2), ro(int32), ro(int32), ro(float32), ro(float32),
        ro(int32, 2), ro(int32), ro(int32), ro(float32, 2),
    )
)  # fmt: skip
def rough_likeness(
    string_bits: NDArray[np.uint16],
    triple_bits: NDArray[np.uint16],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    question: NDArray[np.float32],
    residual: NDArray[np.float32],
    steps: NDArray[np.int32],
    end: NDArray[np.int32],
    owner: NDArray[np.int32],
    facts: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Compare steps with a question cheaply, without the length of the sums.

    Parameters
    ----------
    string_bits, triple_bits, node_string, relation_string, question, residual, steps, end, owner, facts
        As `longer_paths` takes them; in range, not checked.

    Returns
    -------
    (n_steps,) float32
        Dot products of the question with the triple and with the path, and of the residual with the relation.

    Notes
    -----
    For a step 4 d bytes and some 6 d flops.
    """
    n_paths = end.shape[0]
    part, named = np.empty(question.shape[0], np.float32), np.empty(question.shape[0], np.float32)
    end_dots, path_dots = np.empty(n_paths, np.float32), np.empty(n_paths, np.float32)
    for path in range(n_paths):
        widen_row(string_bits, int(node_string[end[path]]), part)
        end_dots[path] = dot(part, question)
        path_dots[path] = dot(facts[path], question)
    rough = np.empty(steps.shape[0], np.float32)
    for step in range(steps.shape[0]):
        widen_row(string_bits, int(relation_string[steps[step, 1]]), named)
        if triple_bits.shape[0] > 0:
            widen_row(triple_bits, steps[step, 0], part)
            alike = dot(part, question)
        else:
            widen_row(string_bits, int(node_string[steps[step, 2]]), part)
            alike = (dot(part, question) + dot(named, question) + end_dots[owner[step]]) / np.float32(3)
        rough[step] = alike + dot(named, residual) + path_dots[owner[step]]
    return rough


@kernel((ro(int32, 2), ro(int32), ro(int32), int64, int64, int64))
def check_steps(
    steps: NDArray[np.int32],
    end: NDArray[np.int32],
    owner: NDArray[np.int32],
    n_triples: int,
    n_relations: int,
    n_nodes: int,
) -> None:
    """Refuse steps and paths that lie outside the graph.

    Parameters
    ----------
    steps, end, owner
        As `longer_paths` takes them.
    n_triples, n_relations, n_nodes : int
        Of the graph; without vectors of triples `n_triples` is 0, and none of them is looked up.

    Raises
    ------
    ValueError
        If one is out of range.

    Notes
    -----
    16 bytes a step.
    """
    for path in range(end.shape[0]):
        if end[path] < 0 or end[path] >= n_nodes:
            raise ValueError("the end of a path is outside the graph")
    for step in range(steps.shape[0]):
        if owner[step] < 0 or owner[step] >= end.shape[0]:
            raise ValueError("a step prolongs no path")
        relation, node = steps[step, 1], steps[step, 2]
        if n_triples > 0 and (steps[step, 0] < 0 or steps[step, 0] >= n_triples):
            raise ValueError("a step is outside the graph")
        if min(relation, node) < 0 or relation >= n_relations or node >= n_nodes:
            raise ValueError("a step is outside the graph")


@kernel(
    (
        ro(uint16, 2), ro(uint16, 2), ro(int32), ro(int32), ro(float32), ro(float32),
        ro(int32, 2), ro(int32), ro(int32), ro(float32), ro(float32, 2), ro(float32, 2), int64, int64,
    )
)  # fmt: skip
def longer_paths(
    string_bits: NDArray[np.uint16],
    triple_bits: NDArray[np.uint16],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    question: NDArray[np.float32],
    residual: NDArray[np.float32],
    steps: NDArray[np.int32],
    end: NDArray[np.int32],
    owner: NDArray[np.int32],
    base: NDArray[np.float32],
    facts: NDArray[np.float32],
    relations: NDArray[np.float32],
    max_scored: int,
    beam: int,
) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]:
    """Prolong paths by the steps that make the best ones.

    Parameters
    ----------
    string_bits, triple_bits, node_string, relation_string
        As `triple_vector` takes them.
    question, residual : (d,) float32
        Unit vectors of the question and of what it asks about its names.
    steps : (n_steps, 3) int32
        Triple, relation and next node.
    end : (n_paths,) int32
        The last node of each path.
    owner : (n_steps,) int32 in [0, n_paths)
        The path that each step prolongs.
    base : (n_steps,) float32
        What speaks for the path with the step beside the vectors: its words, less its cost.
    facts, relations : (n_paths, d) float32
        Sums of the vectors of each path's triples and of their relations.
    max_scored, beam : int, at least 1
        Steps scored in full, where there are more those best without the length of the sums; paths kept.

    Returns
    -------
    chosen : (n_kept,) int64
        The steps, best first; of equal ones the first.
    scores : (n_kept,) float32
        Cosine of the question and the sum of the triples' vectors, and of the residual and the sum of the
        relations' vectors, plus `base`.
    facts, relations : (n_kept, d) float32
        Of the paths kept, with the step.

    Raises
    ------
    ValueError
        If a step or a path is out of range, or a limit is below 1.

    Notes
    -----
    For a step scored in full 6 d bytes and some 30 d flops, for another 4 d and 6 d.
    """
    if max_scored < 1 or beam < 1:
        raise ValueError("limits must be 1 or more")
    check_steps(steps, end, owner, triple_bits.shape[0], relation_string.shape[0], node_string.shape[0])
    d, n_steps = question.shape[0], steps.shape[0]
    fact, named = np.empty(d, np.float32), np.empty(d, np.float32)
    kept = np.arange(n_steps)
    if n_steps > max_scored:
        rough = base + rough_likeness(
            string_bits, triple_bits, node_string, relation_string,
            question, residual, steps, end, owner, facts,
        )  # fmt: skip
        kept = np.sort(np.argsort(-rough, kind="mergesort")[:max_scored])
    scores = np.empty(kept.shape[0], np.float32)
    for slot in range(kept.shape[0]):
        step = kept[slot]
        path = owner[step]
        triple_vector(
            string_bits, triple_bits, node_string, relation_string,
            steps[step, 0], steps[step, 1], end[path], steps[step, 2], fact, named,
        )  # fmt: skip
        alike = cosine_of_sum(facts[path], fact, question)
        scores[slot] = base[step] + alike + cosine_of_sum(relations[path], named, residual)
    best = np.argsort(-scores, kind="mergesort")[:beam]
    chosen = kept[best]
    longer_facts, longer_relations = facts[owner[chosen]], relations[owner[chosen]]
    for slot in range(chosen.shape[0]):
        step = chosen[slot]
        triple_vector(
            string_bits, triple_bits, node_string, relation_string,
            steps[step, 0], steps[step, 1], end[owner[step]], steps[step, 2], fact, named,
        )  # fmt: skip
        longer_facts[slot] += fact
        longer_relations[slot] += named
    return chosen, scores[best], longer_facts, longer_relations
