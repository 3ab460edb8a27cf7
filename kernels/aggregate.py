"""Entity vectors: the mean of [v(head); v(relation); v(tail)] over an entity's triples, in blocks of rows.

Vectors are float16 seen as uint16 (`array.view(np.uint16)`): Numba has no float16 on the CPU, and numpy's own
conversion is five to ten times slower than these bit operations. Values must be finite and at most 65504.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, int64, uint16

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


@kernel((ro(uint16, 2), int64, float32, rw(float32), int64))
def _add_row(
    bits: NDArray[np.uint16], row: int, scale: float | np.float32, out_sums: NDArray[np.float32], offset: int
) -> None:
    """Add `scale` times one float16 row to `out_sums` from `offset` on."""
    # Sign-extended, shifted and with the copies of the sign masked out, a half's bits are a float's but for
    # an exponent bias 112 lower: hence the power of two, which mends subnormals too.
    factor = np.float32(scale * np.float32(2.0**112))
    # Views, since an index like ``offset + column`` might be negative for all the compiler knows, and the
    # test for it keeps the loop from being vectorised (six times slower).
    source = bits[row]
    target = out_sums[offset : offset + source.shape[0]]
    for column in range(source.shape[0]):
        wide = np.int32(np.uint16(source[column]).view(np.int16))
        moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
        target[column] += moved.view(np.float32) * factor


@kernel((ro(float32), float32, rw(uint16, 2), int64))
def _store_row(
    sums: NDArray[np.float32], scale: float | np.float32, out_bits: NDArray[np.uint16], row: int
) -> None:
    """Write `scale * sums` as one float16 row, rounded to nearest, ties to even."""
    target = out_bits[row]
    for column in range(sums.shape[0]):
        value = np.float32(sums[column] * scale)
        bits = np.uint32(value.view(np.uint32))
        sign = np.uint32((bits & np.uint32(0x80000000)) >> np.uint32(16))
        magnitude = np.uint32(bits & np.uint32(0x7FFFFFFF))
        if magnitude >= np.uint32(0x38800000):
            odd = np.uint32((magnitude >> np.uint32(13)) & np.uint32(1))
            rounded = np.uint32(magnitude - np.uint32(0x38000000) + np.uint32(0xFFF) + odd)
            code = np.uint32(rounded >> np.uint32(13))
        else:
            # From 0.5 to 1 a float's last bit is worth 2**-24, just as a subnormal half's: the sum rounds it.
            shifted = np.float32(abs(value) + np.float32(0.5))
            code = np.uint32(np.uint32(shifted.view(np.uint32)) - np.uint32(0x3F000000))
        target[column] = np.uint16(code | sign)


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
    """
    dimension = string_bits.shape[1]
    sums = np.empty(3 * dimension, np.float32)
    for row in range(out_bits.shape[0]):
        entity = start + row
        sums[:] = np.float32(0.0)
        n_as_head = 0
        n_as_tail = 0
        for position in range(indptr[entity], indptr[entity + 1]):
            triple = triples[position]
            _add_row(string_bits, int(relation_string[relation[triple]]), np.float32(1.0), sums, dimension)
            if head[triple] == entity:
                n_as_head += 1
            else:
                _add_row(string_bits, int(node_string[head[triple]]), np.float32(1.0), sums, 0)
            if tail[triple] == entity:
                n_as_tail += 1
            else:
                _add_row(string_bits, int(node_string[tail[triple]]), np.float32(1.0), sums, 2 * dimension)
        degree = indptr[entity + 1] - indptr[entity]
        if degree == 0:
            n_as_head, n_as_tail, degree = 1, 1, 1
        own = node_string[entity]
        _add_row(string_bits, own, np.float32(n_as_head), sums, 0)
        _add_row(string_bits, own, np.float32(n_as_tail), sums, 2 * dimension)
        _store_row(sums, np.float32(1.0) / np.float32(degree), out_bits, row)


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
    """
    for target in range(rows.shape[0]):
        source = bits[rows[target]]
        row = out_rows[target]
        total = np.float32(0.0)
        for column in range(source.shape[0]):
            wide = np.int32(np.uint16(source[column]).view(np.int16))
            moved = np.int32((wide << np.int32(13)) & np.int32(-0x70002000))
            value = np.float32(moved.view(np.float32) * np.float32(2.0**112))
            row[column] = value
            total += value * value
        norm = np.float32(np.sqrt(total))
        out_norms[target] = norm
        inverse = np.float32(1.0) / norm if norm > 0 else np.float32(0.0)
        for column in range(row.shape[0]):
            row[column] *= inverse
