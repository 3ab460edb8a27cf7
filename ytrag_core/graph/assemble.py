"""Extractions to a resolved graph."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.errors import GraphFormatError
from ytrag_core.graph.columns import ExtractionColumns, Statements
from ytrag_core.graph.keys import display_forms, entity_keys, relation_keys
from ytrag_core.graph.literals import literal_mask
from ytrag_core.graph.merged import merged_tables
from ytrag_core.graph.named import Named
from ytrag_core.graph.resolution import Resolver
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
    resolver: Resolver | None = None,
) -> GraphTables:
    """Resolve extractions into node and edge tables.

    Surface forms with one `entity_key` are one node, and so are those that `resolver` finds to be one. A node
    is an attribute where its key is a literal (date, number, quantity) or it was given as the value of an
    attribute, and nothing is said *about* it; all others are entities. Ids follow the keys in ascending
    order, so the result does not depend on the order in which extractions arrive.

    Parameters
    ----------
    extractions
        At most one per chunk; they are taken one by one and not kept.
    chunk_rows
        Chunk id -> row of the chunks table.
    is_attribute
        Whether a relation name is an attribute of the schema, so that tails are its values. Asked once for
        each distinct name.
    resolver
        What further names are one thing; by default names of one key are, and no others.

    Returns
    -------
    GraphTables

    Raises
    ------
    GraphFormatError
        An extraction names a chunk that is not in `chunk_rows`.

    Notes
    -----
    Linear but for the sorts of distinct keys and of integers, and what the resolver does. About 100 bytes for
    a triple at the peak, and the distinct strings some four times over.
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
    return _graph_of(columns.finish(), is_attribute, resolver or Resolver())


def _graph_of(said: Statements, is_attribute: Callable[[str], bool], resolver: Resolver) -> GraphTables:
    names = said.names.distinct
    nodes = resolve_forms(names, said.names.counts(), entity_keys(names))
    relation_names = said.relations.distinct
    relations = resolve_forms(relation_names, said.relations.counts(), relation_keys(relation_names))
    resolution = resolver.resolve(_named(said, nodes, relations, relation_names, is_attribute))
    named, groups = resolution.named, resolution.groups
    order, is_value = _node_order(named, groups)
    node_of_unit = np.empty(named.n_units, np.int32)
    node_of_unit[order] = np.arange(order.shape[0], dtype=np.int32)
    if resolution.links:
        node_of_unit = node_of_unit[groups]
    mention = np.where(named.mention >= 0, node_of_unit[named.mention], np.int32(-1))
    is_named = mention >= 0
    keys = named.unit_key[order]
    graph = graph_from_triples(
        nodes=NodeColumns(
            key=string_column(nodes.keys.take(keys)),
            name=string_column(nodes.names.take(keys)),
            type=string_column(_types(said, mention, len(order))),
            aliases=_alias_column(named, node_of_unit, order, _stated_aliases(said, named)),
            external_id=None,
        ),
        n_entities=int((~is_value).sum()),
        relations=relations,
        head=node_of_unit[named.head],
        relation=named.relation,
        tail=node_of_unit[named.tail],
        triple_chunk=named.triple_chunk,
        mention=(
            np.concatenate([mention[is_named], node_of_unit[named.other]]),
            np.concatenate([said.mention_chunk[is_named], named.other_chunk]),
        ),
    )
    return replace(graph, merged=merged_tables(graph, resolution, node_of_unit))


def _named(
    said: Statements,
    nodes: ResolvedForms,
    relations: ResolvedForms,
    relation_names: pa.LargeStringArray,
    is_attribute: Callable[[str], bool],
) -> Named:
    """Return what is said of every key."""
    mention, head, tail = (nodes.key_of_form[codes] for codes in said.names.codes)
    relation_codes = said.relations.codes[0]
    relation = relations.key_of_form[relation_codes]
    gives_value = np.fromiter(map(is_attribute, relation_names.to_pylist()), bool, len(relation_names))
    value = said.is_value | gives_value[relation_codes]
    kept = (head >= 0) & (tail >= 0) & (relation >= 0)
    # A triple with a part that is not there is none, but its other end is named all the same.
    other = np.concatenate([head[~kept], tail[~kept]])
    other_chunk = np.concatenate([said.triple_chunk[~kept]] * 2)
    other, other_chunk = other[other >= 0], other_chunk[other >= 0]
    head, tail = head[kept], tail[kept]
    named = np.concatenate([mention[mention >= 0], other])
    return Named(
        said=said,
        nodes=nodes,
        unit_key=np.arange(len(nodes.keys), dtype=np.int32),
        senses={},
        mention=mention,
        head=head,
        tail=tail,
        relation=relation[kept],
        triple_chunk=said.triple_chunk[kept],
        is_value=_attribute_mask(nodes.keys, head, tail, value[kept], named),
        other=other,
        other_chunk=other_chunk,
        relation_keys=relations.keys,
    )


def _node_order(named: Named, groups: NDArray[np.int32]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the units by which nodes go in the order of the nodes, and which of them are values."""
    units = np.flatnonzero(groups == np.arange(named.n_units))
    is_entity = np.zeros(named.n_units, bool)
    is_entity[groups[~named.is_value]] = True
    if named.senses:
        units = units[np.lexsort((units, named.unit_key[units]))]
    order = units[np.argsort(~is_entity[units], kind="stable")]
    return order, ~is_entity[order]


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


def _types(said: Statements, mention: NDArray[np.int32], n_nodes: int) -> pa.LargeStringArray:
    """Return for each node the type given most (ties: the lower by code point), empty without one."""
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
    chosen = np.full(n_nodes, len(labels))
    chosen[rows[best]] = by_name[ranks[best]]
    return pa.concat_arrays([labels, pa.array([""], pa.large_string())]).take(chosen)


def _stated_aliases(said: Statements, named: Named) -> dict[int, set[str]]:
    """Return the aliases that chunks state for a unit, without those of the same key."""
    aliases = said.aliases.distinct
    if not len(aliases):
        return {}
    pairs = named.mention[said.alias_mention].astype(np.int64) * len(aliases) + said.aliases.codes[0]
    pairs = np.sort(pairs[pairs >= 0])
    pairs = pairs[first_of_run(pairs)]
    rows, codes = np.divmod(pairs, len(aliases))
    keys = entity_keys(aliases).take(codes)
    other = pc.and_(pc.not_equal(keys, ""), pc.not_equal(keys, named.nodes.keys.take(named.unit_key[rows])))
    kept = np.flatnonzero(other.to_numpy(zero_copy_only=False))
    stated: dict[int, set[str]] = {}
    for row, alias in zip(
        rows[kept].tolist(), display_forms(aliases.take(codes[kept])).to_pylist(), strict=True
    ):
        stated.setdefault(row, set()).add(alias)
    return stated


def _alias_column(
    named: Named, node_of_unit: NDArray[np.int32], order: NDArray[np.int64], stated: Mapping[int, set[str]]
) -> pa.ListArray:
    """Return the aliases of every node, in the order of the nodes: all its forms but the name."""
    forms: dict[int, set[str]] = {}
    for unit, aliases in stated.items():
        forms.setdefault(int(node_of_unit[unit]), set()).update(aliases)
    for unit in _units_with_aliases(named):
        of_key = named.nodes.aliases[int(named.unit_key[unit])]
        forms.setdefault(int(node_of_unit[unit]), set()).update(of_key)
    moved = np.flatnonzero(order[node_of_unit] != np.arange(named.n_units))
    for unit, name in zip(moved.tolist(), named.names(moved), strict=True):
        forms.setdefault(int(node_of_unit[unit]), set()).add(name)
    nodes = np.array(sorted(forms), np.int64)
    shown = named.names(order[nodes])
    lists = [sorted(forms[node] - {name}) for node, name in zip(nodes.tolist(), shown, strict=True)]
    counts = np.zeros(len(order) + 1, np.int32)
    counts[nodes + 1] = [len(listed) for listed in lists]
    texts = [alias for listed in lists for alias in listed]
    values = pa.array(texts, pa.string())
    if not isinstance(values, pa.Array):
        raise GraphFormatError(f"{len(texts)} aliases arrived, beyond 2 GiB of text: leave some out")
    return pa.ListArray.from_arrays(np.cumsum(counts, dtype=np.int32), values)


def _units_with_aliases(named: Named) -> list[int]:
    """Return the units of keys with several forms."""
    keys = [*named.nodes.aliases]
    further = [unit for unit in named.senses if int(named.unit_key[unit]) != unit]
    return keys + [unit for unit in further if int(named.unit_key[unit]) in named.nodes.aliases]
