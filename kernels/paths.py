"""Bounded beam search for chains of triples, scored as a whole against a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float32, int32, int64, uint16

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


@kernel((ro(int64), ro(int32), ro(boolean), ro(int32, 2), int64, int64))
def steps_on_one_side(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    allowed: NDArray[np.bool_],
    nodes: NDArray[np.int32],
    n_passed: int,
    row_limit: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the CSR entries that prolong paths without a loop.

    Parameters
    ----------
    indptr, indices : (n_rows + 1,) int64 and (n_entries,) int32
    allowed : (n_entries or 0,) bool
        The entries that may be gone along; all where there are none.
    nodes : (n_paths, at least n_passed) int32 in [0, n_rows)
        The nodes of each path.
    n_passed, row_limit : int, at least 1
        How many nodes each has, of which it goes on from the last; most entries of a row, of more allowed
        ones an even sample.

    Returns
    -------
    positions, owner : (n_steps,) int64 and int32
        The entries, and the path that each prolongs, not descending.

    Raises
    ------
    ValueError
        If a node is out of range, or the mask is of another length than the entries.

    Notes
    -----
    `n_passed` comparisons for an entry looked at; with a mask 2 bytes for each entry of the rows.
    """
    n_paths = nodes.shape[0]
    is_masked = allowed.shape[0] > 0
    if is_masked and allowed.shape[0] != indices.shape[0]:
        raise ValueError("the mask does not cover the entries")
    capacity = 0
    for path in range(n_paths):
        node = nodes[path, n_passed - 1]
        if node < 0 or node >= indptr.shape[0] - 1:
            raise ValueError("a node is outside the graph")
        capacity += min(indptr[node + 1] - indptr[node], row_limit)
    positions = np.empty(capacity, np.int64)
    owner = np.empty(capacity, np.int32)
    n_steps = 0
    for path in range(n_paths):
        node = nodes[path, n_passed - 1]
        start, length = indptr[node], indptr[node + 1] - indptr[node]
        n_allowed = length
        if is_masked:
            n_allowed = 0
            for position in range(start, start + length):
                n_allowed += allowed[position]
        n_looked_at = min(n_allowed, row_limit)
        n_seen, position = 0, start - 1
        for j in range(n_looked_at):
            wanted = j * n_allowed // n_looked_at
            if is_masked:
                while n_seen <= wanted:
                    position += 1
                    n_seen += allowed[position]
            else:
                position = start + wanted
            is_new = True
            for i in range(n_passed):
                if nodes[path, i] == indices[position]:
                    is_new = False
            if is_new:
                positions[n_steps] = position
                owner[n_steps] = path
                n_steps += 1
    return positions[:n_steps].copy(), owner[:n_steps].copy()


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


@kernel(
    (
        ro(uint16, 2), ro(uint16, 2), ro(int32), ro(int32), ro(float32), ro(float32),
        ro(int32, 2), ro(int32), ro(float32, 2), ro(float32),
    )
)  # fmt: skip
def rough_scores(
    string_bits: NDArray[np.uint16],
    triple_bits: NDArray[np.uint16],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    question: NDArray[np.float32],
    residual: NDArray[np.float32],
    steps: NDArray[np.int32],
    owner: NDArray[np.int32],
    facts: NDArray[np.float32],
    end_dots: NDArray[np.float32],
) -> NDArray[np.float32]:
    """Score steps cheaply, without the length of the sums.

    Parameters
    ----------
    string_bits, triple_bits, node_string, relation_string, question, residual
        As `beam_paths` takes them.
    steps, owner : (n_steps, 3) and (n_steps,) int32
        Triple, relation and next node of each step, and the path that it prolongs.
    facts : (n_paths, d) float32
        Sum of the vectors of each path's triples.
    end_dots : (n_paths,) float32
        Dot product of the question and the name of each path's last node.

    Returns
    -------
    (n_steps,) float32
        What triple and path resemble the question, and the relation the residual.

    Notes
    -----
    For a step 4 d bytes and some 10 d flops.
    """
    name, asked = np.empty(question.shape[0], np.float32), np.empty(question.shape[0], np.float32)
    path_dots = np.empty(facts.shape[0], np.float32)
    for path in range(facts.shape[0]):
        path_dots[path] = dot(facts[path], question)
    scores = np.empty(steps.shape[0], np.float32)
    for i in range(steps.shape[0]):
        widen_row(string_bits, int(relation_string[steps[i, 1]]), asked)
        if triple_bits.shape[0] > 0:
            widen_row(triple_bits, steps[i, 0], name)
            alike = dot(name, question)
        else:
            widen_row(string_bits, int(node_string[steps[i, 2]]), name)
            alike = (dot(name, question) + dot(asked, question) + end_dots[owner[i]]) / np.float32(3)
        scores[i] = alike + dot(asked, residual) + path_dots[owner[i]]
    return scores


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
        ro(int64), ro(int32), ro(int32), ro(int64), ro(int32), ro(int32), ro(int32),
        ro(uint16, 2), ro(uint16, 2), ro(int32), ro(int32), ro(float32), ro(float32), ro(int32),
        int64, int64, int64, int64, int64, float32, float32, float32, ro(boolean), ro(boolean),
    )
)  # fmt: skip
def beam_paths(
    forth_indptr: NDArray[np.int64],
    forth_indices: NDArray[np.int32],
    forth_relation: NDArray[np.int32],
    back_indptr: NDArray[np.int64],
    back_indices: NDArray[np.int32],
    back_relation: NDArray[np.int32],
    back_triple: NDArray[np.int32],
    string_bits: NDArray[np.uint16],
    triple_bits: NDArray[np.uint16],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    question: NDArray[np.float32],
    residual: NDArray[np.float32],
    starts: NDArray[np.int32],
    n_entities: int,
    beam: int,
    max_hops: int,
    row_limit: int,
    max_scored: int,
    hub_cost: np.float32,
    value_cost: np.float32,
    step_gain: np.float32,
    forth_allowed: NDArray[np.bool_],
    back_allowed: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
    """Return the best chains of each length that start at some nodes.

    Parameters
    ----------
    forth_indptr, forth_indices, forth_relation, back_indptr, back_indices, back_relation, back_triple
        CSR from heads to tails, where a triple's id is its position, and from tails to heads.
    string_bits, triple_bits, node_string, relation_string
        As `triple_vector` takes them.
    question, residual : (d,) float32
        Unit vectors of the question and of what it asks about its names.
    starts : (n_starts,) int32
        Nodes to start from.
    n_entities : int
        Nodes from here on are attribute values.
    beam, max_hops, row_limit, max_scored : int, at least 1
        Chains kept of each length; longest chain; edges of one node and direction looked at; steps of one
        length that are scored in full, where there are more those best by `rough_scores`.
    hub_cost, value_cost, step_gain : float32
        Cost of passing a node of degree g, times ln(1 + g); of passing an attribute value; gain of each
        triple after the first.
    forth_allowed, back_allowed : (n_triples or 0,) bool
        The entries of both CSR that a chain may go along; all where there are none.

    Returns
    -------
    nodes, triples : (n_found, max_hops + 1) and (n_found, max_hops) int32
        The nodes and the triples of each chain, -1 behind its end.
    scores : (n_found,) float32
        Cosine of the question and the sum of the triples' vectors, and of the residual and the sum of the
        relations' vectors, less costs, plus gains; short chains first, then by score.

    Raises
    ------
    ValueError
        If a node is out of range, or a limit below 1.

    Notes
    -----
    For a step scored in full: 6 d bytes, some 30 d flops. Of equal scores that goes first which prolongs the
    better chain, along a triple rather than against one.
    """
    if beam < 1 or max_hops < 1 or row_limit < 1 or max_scored < 1:
        raise ValueError("wanted a beam, hops and limits of 1 or more")
    d, n_starts = question.shape[0], starts.shape[0]
    found_nodes = np.empty((0, max_hops + 1), np.int32)
    found_triples = np.empty((0, max_hops), np.int32)
    found_scores = np.empty(0, np.float32)
    nodes = np.full((n_starts, max_hops + 1), -1, np.int32)
    nodes[:, 0] = starts
    triples = np.full((n_starts, max_hops), -1, np.int32)
    facts = np.zeros((n_starts, d), np.float32)
    relations = np.zeros((n_starts, d), np.float32)
    costs = np.zeros(n_starts, np.float32)
    fact, asked = np.empty(d, np.float32), np.empty(d, np.float32)
    for hop in range(max_hops):
        forth, forth_owner = steps_on_one_side(
            forth_indptr, forth_indices, forth_allowed, nodes, hop + 1, row_limit
        )
        back, back_owner = steps_on_one_side(
            back_indptr, back_indices, back_allowed, nodes, hop + 1, row_limit
        )
        owner = np.concatenate((forth_owner, back_owner))
        if owner.shape[0] == 0:
            break
        steps = np.empty((owner.shape[0], 3), np.int32)
        n_forth = forth.shape[0]
        steps[:n_forth, 0] = forth
        steps[:n_forth, 1] = forth_relation[forth]
        steps[:n_forth, 2] = forth_indices[forth]
        steps[n_forth:, 0] = back_triple[back]
        steps[n_forth:, 1] = back_relation[back]
        steps[n_forth:, 2] = back_indices[back]
        end_dots = np.empty(nodes.shape[0], np.float32)
        for path in range(nodes.shape[0]):
            node = nodes[path, hop]
            widen_row(string_bits, int(node_string[node]), fact)
            end_dots[path] = dot(fact, question)
            if hop > 0:
                degree = forth_indptr[node + 1] - forth_indptr[node]
                degree += back_indptr[node + 1] - back_indptr[node]
                costs[path] += hub_cost * np.float32(np.log1p(np.float32(degree)))
                costs[path] += value_cost if node >= n_entities else np.float32(0)
        kept = np.arange(owner.shape[0])
        if kept.shape[0] > max_scored:
            rough = rough_scores(
                string_bits, triple_bits, node_string, relation_string,
                question, residual, steps, owner, facts, end_dots,
            )  # fmt: skip
            kept = np.sort(np.argsort(-rough, kind="mergesort")[:max_scored])
        scores = np.empty(kept.shape[0], np.float32)
        for slot in range(kept.shape[0]):
            step = kept[slot]
            path = owner[step]
            triple_vector(
                string_bits, triple_bits, node_string, relation_string,
                steps[step, 0], steps[step, 1], nodes[path, hop], steps[step, 2], fact, asked,
            )  # fmt: skip
            alike = cosine_of_sum(facts[path], fact, question)
            alike += cosine_of_sum(relations[path], asked, residual)
            scores[slot] = alike - costs[path] + step_gain * np.float32(hop)
        best = np.argsort(-scores, kind="mergesort")[:beam]
        chosen = kept[best]
        before = owner[chosen]
        longer_nodes, longer_triples = nodes[before], triples[before]
        longer_facts, longer_relations = facts[before], relations[before]
        for slot in range(chosen.shape[0]):
            step = chosen[slot]
            triple_vector(
                string_bits, triple_bits, node_string, relation_string,
                steps[step, 0], steps[step, 1], nodes[before[slot], hop], steps[step, 2], fact, asked,
            )  # fmt: skip
            longer_nodes[slot, hop + 1] = steps[step, 2]
            longer_triples[slot, hop] = steps[step, 0]
            longer_facts[slot] += fact
            longer_relations[slot] += asked
        nodes, triples, facts, relations = longer_nodes, longer_triples, longer_facts, longer_relations
        costs = costs[before]
        found_nodes = np.concatenate((found_nodes, nodes))
        found_triples = np.concatenate((found_triples, triples))
        found_scores = np.concatenate((found_scores, scores[best]))
    return found_nodes, found_triples, found_scores
