"""Entity vectors: the mean of [v(head); v(relation); v(tail)] over an entity's triples, in blocks of rows.

Vectors are float16 seen as uint16 (`array.view(np.uint16)`), as Numba has no float16 on the CPU. Values must
be finite and at most 65504.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro, rw
from .instructions import narrow, prefetch_row, widen

if TYPE_CHECKING:
    from numpy.typing import NDArray

AHEAD = 8
"""Incidences between asking for a name and reading it."""


@kernel((ro(int32), ro(int32), int64))
def incident_triples(
    head: NDArray[np.int32], tail: NDArray[np.int32], n_entities: int
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """List the triples of every entity, ascending; a self-loop is listed once.

    Parameters
    ----------
    head, tail : (n_triples,) int32
        Node ids; ids at or above `n_entities` are attribute nodes and get no row.
    n_entities : int

    Returns
    -------
    indptr : (n_entities + 1,) int64
    triples : (indptr[-1],) int32
        Triple ids, ascending in each row.

    Notes
    -----
    A counting sort: 16 bytes read and 8 scattered for a triple, 24 for an entity.
    """
    indptr = np.zeros(n_entities + 1, np.int64)
    for triple in range(head.shape[0]):
        if head[triple] < n_entities:
            indptr[head[triple] + 1] += 1
        if tail[triple] < n_entities and tail[triple] != head[triple]:
            indptr[tail[triple] + 1] += 1
    for entity in range(n_entities):
        indptr[entity + 1] += indptr[entity]
    position = indptr[:-1].copy()
    triples = np.empty(indptr[n_entities], np.int32)
    for triple in range(head.shape[0]):
        if head[triple] < n_entities:
            triples[position[head[triple]]] = triple
            position[head[triple]] += 1
        if tail[triple] < n_entities and tail[triple] != head[triple]:
            triples[position[tail[triple]]] = triple
            position[tail[triple]] += 1
    return indptr, triples


@kernel((ro(uint16, 2), ro(int32), rw(float32)))
def add_four_rows(bits: NDArray[np.uint16], four: NDArray[np.int32], out_sums: NDArray[np.float32]) -> None:
    """Add four float16 rows to `out_sums`.

    Parameters
    ----------
    bits : (n, d) uint16
    four : (4,) int32
        Rows of `bits`.
    out_sums : (d,) float32

    Notes
    -----
    8 bytes read, 4 conversions and 4 flops a column. Four rows at once are four streams that the processor
    fetches side by side, and a quarter of the traffic of `out_sums`.
    """
    one, two = np.uint64(four[0]), np.uint64(four[1])
    three, last = np.uint64(four[2]), np.uint64(four[3])
    for column in range(out_sums.shape[0]):
        out_sums[column] += (widen(bits[one, column]) + widen(bits[two, column])) + (
            widen(bits[three, column]) + widen(bits[last, column])
        )


@kernel(
    (ro(uint16, 2), ro(int32), int64, float32, ro(float32), float32, rw(uint16, 2), int64, int64),
    fastmath=frozenset({"contract"}),
)
def store_sum(
    bits: NDArray[np.uint16],
    four: NDArray[np.int32],
    n_once: int,
    weight: float | np.float32,
    sums: NDArray[np.float32],
    scale: float | np.float32,
    out_bits: NDArray[np.uint16],
    row: int,
    offset: int,
) -> None:
    """Write `scale` times the sum of `sums`, the first `n_once` of four rows and `weight` times the fourth.

    Parameters
    ----------
    bits : (n, d) uint16
    four : (4,) int32
        Rows of `bits`; those between the first `n_once` and the fourth are valid but do not count.
    n_once : int in [0, 3]
    weight : float
    sums : (d,) float32
    scale : float
    out_bits : (m, width) uint16
        Written at `row` from column `offset` on, rounded to nearest, ties to even.
    row, offset : int

    Notes
    -----
    As `add_four_rows`, with half of it where `n_once` is at most 1, and one conversion back. Unsigned
    indices, and no views: a view costs two atomic operations, a signed index a test for negative ones.
    """
    one, two = np.uint64(four[0]), np.uint64(four[1])
    three, last = np.uint64(four[2]), np.uint64(four[3])
    has_one, has_two, has_three = np.float32(n_once > 0), np.float32(n_once > 1), np.float32(n_once > 2)
    target, first = np.uint64(row), np.uint64(offset)
    if n_once <= 1:
        for column in range(sums.shape[0]):
            total = sums[column] + (widen(bits[one, column]) * has_one + widen(bits[last, column]) * weight)
            out_bits[target, first + np.uint64(column)] = narrow(total * scale)
    else:
        for column in range(sums.shape[0]):
            total = sums[column] + (
                (widen(bits[one, column]) * has_one + widen(bits[two, column]) * has_two)
                + (widen(bits[three, column]) * has_three + widen(bits[last, column]) * weight)
            )
            out_bits[target, first + np.uint64(column)] = narrow(total * scale)


@kernel(
    (
        ro(uint16, 2), ro(int32), int64, int64, int64, int64, float32,
        rw(int32), rw(float32), rw(uint16, 2), int64, int64,
    )
)  # fmt: skip
def store_mean(
    bits: NDArray[np.uint16],
    rows: NDArray[np.int32],
    start: int,
    stop: int,
    own: int,
    n_own: int,
    scale: float | np.float32,
    out_four: NDArray[np.int32],
    out_sums: NDArray[np.float32],
    out_bits: NDArray[np.uint16],
    row: int,
    offset: int,
) -> None:
    """Write `scale` times the sum of the rows listed in ``rows[start:stop]`` and of `n_own` times row `own`.

    Parameters
    ----------
    bits : (n, d) uint16
    rows : (m,) int32
        Rows of `bits`; those equal to `own` are counted and read once.
    start, stop, own, n_own : int
    scale : float
    out_four : (4,) int32
        Scratch.
    out_sums : (d,) float32
        Scratch, all zero at entry and again on return.
    out_bits : (k, width) uint16
        Written at `row` from column `offset` on.
    row, offset : int
    """
    n_waiting = 0
    is_clean = True
    for position in range(start, stop):
        if rows[position] == own:
            n_own += 1
            continue
        out_four[n_waiting] = rows[position]
        n_waiting += 1
        if n_waiting == 4:
            add_four_rows(bits, out_four, out_sums)
            n_waiting = 0
            is_clean = False
    for spare in range(n_waiting, 4):
        out_four[spare] = own
    store_sum(bits, out_four, n_waiting, np.float32(n_own), out_sums, scale, out_bits, row, offset)
    if not is_clean:
        out_sums[:] = np.float32(0.0)


@kernel(
    (
        ro(int64),
        ro(int32),
        ro(int32),
        ro(int32),
        ro(int32),
        ro(int32),
        ro(int32),
        ro(uint16, 2),
        int64,
        rw(uint16, 2),
    )
)
def aggregate_rows(
    indptr: NDArray[np.int64],
    triples: NDArray[np.int32],
    head: NDArray[np.int32],
    relation: NDArray[np.int32],
    tail: NDArray[np.int32],
    node_string: NDArray[np.int32],
    relation_string: NDArray[np.int32],
    string_bits: NDArray[np.uint16],
    start: int,
    out_bits: NDArray[np.uint16],
) -> None:
    """Write the vectors of the entities `start ... start + out_bits.shape[0]`.

    Parameters
    ----------
    indptr, triples : (n_entities + 1,) int64 and (n_incidences,) int32
        As `incident_triples` returns them.
    head, relation, tail : (n_triples,) int32
    node_string : (n_nodes,) int32
        Row of each node's name in `string_bits`.
    relation_string : (n_relations,) int32
    string_bits : (n_strings, d) uint16
        Float16 bits of the encoded strings.
    start : int
        First entity of the block.
    out_bits : (n_rows, 3 d) uint16
        Float16 bits of the entity vectors.

    Notes
    -----
    An entity without triples gets [v; 0; v]: its name in either place, and no relation.

    For an incidence: 28 bytes of ids, 2 d bytes of the other end's name at a random place, 2 d bytes of a
    relation's name from the cache and 4 d flops; for an entity 2 d bytes read, 6 d written and 7 d flops. The
    random places decide, so ids are looked up for the whole block first, which leaves the processor many
    misses to wait for at once, and names are asked for some incidences before they are read.
    """
    dimension = string_bits.shape[1]
    first = indptr[start]
    n_listed = indptr[start + out_bits.shape[0]] - first
    heads = np.empty(n_listed, np.int32)
    relations = np.empty(n_listed, np.int32)
    tails = np.empty(n_listed, np.int32)
    for listed in range(n_listed):
        triple = triples[first + listed]
        heads[listed] = head[triple]
        relations[listed] = relation[triple]
        tails[listed] = tail[triple]
    for listed in range(n_listed):
        heads[listed] = node_string[heads[listed]]
        relations[listed] = relation_string[relations[listed]]
        tails[listed] = node_string[tails[listed]]
    sums = np.zeros(dimension, np.float32)
    four = np.empty(4, np.int32)
    for row in range(out_bits.shape[0]):
        begin = indptr[start + row] - first
        end = indptr[start + row + 1] - first
        for listed in range(min(begin + AHEAD, n_listed), min(end + AHEAD, n_listed)):
            prefetch_row(string_bits, heads[listed])
            prefetch_row(string_bits, tails[listed])
        own = int(node_string[start + row])
        alone = int(begin == end)
        scale = np.float32(1.0) / np.float32(max(end - begin, 1))
        store_mean(string_bits, heads, begin, end, own, alone, scale, four, sums, out_bits, row, 0)
        store_mean(
            string_bits, tails, begin, end, own, alone, scale, four, sums, out_bits, row, 2 * dimension
        )
        if alone:
            out_bits[row, dimension : 2 * dimension] = 0
        else:
            own = int(relations[begin])
            store_mean(
                string_bits, relations, begin, end, own, 0, scale, four, sums, out_bits, row, dimension
            )


@kernel((ro(uint16, 2), ro(int32), rw(float32, 2), rw(float32)), fastmath=frozenset({"contract", "reassoc"}))
def unit_rows(
    bits: NDArray[np.uint16],
    rows: NDArray[np.int32],
    out_rows: NDArray[np.float32],
    out_norms: NDArray[np.float32],
) -> None:
    """Gather float16 rows as float32 rows of length one, and their former lengths.

    Parameters
    ----------
    bits : (n, width) uint16
    rows : (m,) int32
        Rows to gather.
    out_rows : (m, width) float32
        Unit-norm, or zero where the row was zero.
    out_norms : (m,) float32

    Notes
    -----
    2 bytes at a random place and 12 of the target for an element; a conversion and 3 flops.
    """
    for target in range(rows.shape[0]):
        if target + AHEAD < rows.shape[0]:
            prefetch_row(bits, rows[target + AHEAD])
        source = bits[rows[target]]
        row = out_rows[target]
        total = np.float32(0.0)
        for column in range(source.shape[0]):
            value = widen(source[column])
            row[column] = value
            total += value * value
        norm = np.float32(np.sqrt(total))
        out_norms[target] = norm
        inverse = np.float32(1.0) / norm if norm > 0 else np.float32(0.0)
        for column in range(row.shape[0]):
            row[column] *= inverse
