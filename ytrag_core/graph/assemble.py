"""Extractions to a resolved graph."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.columns import ExtractionColumns, Statements
from ytrag_core.graph.keys import display_forms, entity_keys, relation_keys
from ytrag_core.graph.literals import literal_mask
from ytrag_core.graph.resolve import ResolvedForms, resolve_forms
from ytrag_core.graph.runs import first_of_run
from ytrag_core.graph.tables import GraphTables, string_column
from ytrag_core.graph.triples import NodeColumns, graph_from_triples

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from ytrag_core.extraction.model import Extraction

__all__ = ["assemble_graph"]


def assemble_graph(
    extractions: Iterable[Extraction],
    chunk_rows: Mapping[str, int],
    *,
    is_attribute: Callable[[str], bool] = lambda relation: False,
) -> GraphTables:
    """Resolve extractions into node and edge tables.

    Surface forms with one `entity_key` are one node. A node is an attribute where its key is a literal
    (date, number, quantity) or it was given as the value of an attribute, and nothing is said *about* it; all
    others are entities. Ids follow the keys in ascending order, so the result does not depend on the order in
    which extractions arrive.

    Parameters
    ----------
    extractions
        At most one per chunk; they are taken one by one and not kept.
    chunk_rows
        Chunk id -> row of the chunks table.
    is_attribute
        Whether a relation name is an attribute of the schema, so that tails are its values. Asked once for
        each distinct name.

    Returns
    -------
    GraphTables

    Raises
    ------
    GraphFormatError
        An extraction names a chunk that is not in `chunk_rows`.

    Notes
    -----
    Linear but for the sorts of distinct keys and of integers. About 100 bytes for a triple at the peak, and
    the distinct strings some four times over.
    """
    columns = ExtractionColumns()
    for extraction in extractions:
        row = chunk_rows.get(extraction.chunk_id)
        if row is None:
            raise GraphFormatError(
                f"an extraction names chunk {extraction.chunk_id!r}, which is not among the "
                f"{len(chunk_rows)} chunks; give the extraction of every chunk its own id"
            )
        columns.add(extraction, row)
    return _graph_of(columns.finish(), is_attribute)


def _graph_of(said: Statements, is_attribute: Callable[[str], bool]) -> GraphTables:
    names = said.names.distinct
    nodes = resolve_forms(names, said.names.counts(), entity_keys(names))
    relation_names = said.relations.distinct
    relations = resolve_forms(relation_names, said.relations.counts(), relation_keys(relation_names))
    mention, head, tail = (nodes.key_of_form[codes] for codes in said.names.codes)
    relation_codes = said.relations.codes[0]
    relation = relations.key_of_form[relation_codes]
    gives_value = np.fromiter(map(is_attribute, relation_names.to_pylist()), bool, len(relation_names))
    value = said.is_value | gives_value[relation_codes]
    kept = (head >= 0) & (tail >= 0) & (relation >= 0)
    # A triple with a part that is not there is none, but its other end is named all the same.
    named = np.concatenate([mention, head[~kept], tail[~kept]])
    named_chunk = np.concatenate([said.mention_chunk, *[said.triple_chunk[~kept]] * 2])
    named, named_chunk = named[named >= 0], named_chunk[named >= 0]
    head, tail = head[kept], tail[kept]
    is_value = _attribute_mask(nodes.keys, head, tail, value[kept], named)
    order = np.argsort(is_value, kind="stable")
    node_of_key = np.empty(len(nodes.keys), np.int32)
    node_of_key[order] = np.arange(order.shape[0], dtype=np.int32)
    return graph_from_triples(
        nodes=NodeColumns(
            key=string_column(nodes.keys.take(order)),
            name=string_column(nodes.names.take(order)),
            type=string_column(_types(said, mention, len(order)).take(order)),
            aliases=_alias_column(nodes, _stated_aliases(said, mention, nodes), node_of_key),
            external_id=None,
        ),
        n_entities=int((~is_value).sum()),
        relations=relations,
        head=node_of_key[head],
        relation=relation[kept],
        tail=node_of_key[tail],
        triple_chunk=said.triple_chunk[kept],
        mention=(node_of_key[named], named_chunk),
    )


def _attribute_mask(
    keys: pa.LargeStringArray,
    head: NDArray[np.int32],
    tail: NDArray[np.int32],
    value: NDArray[np.bool_],
    named: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Return (n_keys,) True where a node is an attribute."""
    literal = literal_mask(keys)
    mask = literal.copy()
    mask[tail[value]] = True
    for others in (tail[~value], named):
        mask[others] &= literal[others]
    mask[head] = False
    return mask


def _types(said: Statements, mention: NDArray[np.int32], n_keys: int) -> pa.LargeStringArray:
    """Return for each key the type given most (ties: the lower by code point), empty without one."""
    labels = said.labels.distinct
    by_name = pc.sort_indices(labels).to_numpy().astype(np.int64)
    rank = np.empty(len(labels), np.int64)
    rank[by_name] = np.arange(len(labels))
    given = pc.not_equal(labels, "").to_numpy(zero_copy_only=False)[said.labels.codes[0]] & (mention >= 0)
    pairs = mention[given].astype(np.int64) * len(labels) + rank[said.labels.codes[0][given]]
    pairs.sort()
    starts = np.flatnonzero(first_of_run(pairs))
    rows, ranks = np.divmod(pairs[starts], max(len(labels), 1))
    counts = np.diff(starts, append=pairs.shape[0])
    order = np.lexsort((ranks, -counts, rows))
    best = order[first_of_run(rows[order])]
    chosen = np.full(n_keys, len(labels))
    chosen[rows[best]] = by_name[ranks[best]]
    return pa.concat_arrays([labels, pa.array([""], pa.large_string())]).take(chosen)


def _stated_aliases(
    said: Statements, mention: NDArray[np.int32], nodes: ResolvedForms
) -> dict[int, set[str]]:
    """Return the aliases that chunks state for a key, without those of the same key."""
    aliases = said.aliases.distinct
    if not len(aliases):
        return {}
    pairs = mention[said.alias_mention].astype(np.int64) * len(aliases) + said.aliases.codes[0]
    pairs = np.sort(pairs[pairs >= 0])
    pairs = pairs[first_of_run(pairs)]
    rows, codes = np.divmod(pairs, len(aliases))
    keys = entity_keys(aliases).take(codes)
    other = pc.and_(pc.not_equal(keys, ""), pc.not_equal(keys, nodes.keys.take(rows)))
    kept = np.flatnonzero(other.to_numpy(zero_copy_only=False))
    stated: dict[int, set[str]] = {}
    for row, alias in zip(
        rows[kept].tolist(), display_forms(aliases.take(codes[kept])).to_pylist(), strict=True
    ):
        stated.setdefault(row, set()).add(alias)
    return stated


def _alias_column(
    nodes: ResolvedForms, stated: Mapping[int, set[str]], node_of_key: NDArray[np.int32]
) -> pa.ListArray:
    """Return the aliases of every node, in the order of the nodes."""
    keys = np.array(sorted(nodes.aliases.keys() | stated.keys()), np.int64)
    keys = keys[np.argsort(node_of_key[keys])]
    lists = [sorted({*nodes.aliases.get(key, ()), *stated.get(key, ())}) for key in keys.tolist()]
    counts = np.zeros(len(node_of_key) + 1, np.int32)
    counts[node_of_key[keys] + 1] = [len(aliases) for aliases in lists]
    texts = [alias for aliases in lists for alias in aliases]
    values = pa.array(texts, pa.string())
    if not isinstance(values, pa.Array):
        raise GraphFormatError(f"{len(texts)} aliases arrived, beyond 2 GiB of text: leave some out")
    return pa.ListArray.from_arrays(np.cumsum(counts, dtype=np.int32), values)
