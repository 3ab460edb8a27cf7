"""What filters let through: masks over passages, triples and nodes, made once for each filter."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.retrieval.metadata import MetadataColumns
from ytrag_core.retrieval.type_filter import TypeFilter, wanted_entities, wanted_triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.graph.tables import Provenance
    from ytrag_core.retrieval.conditions import MetadataFilter
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["FilterMasks", "Masks", "Selection"]

_MOST_BYTES = 1 << 28


class Selection:
    """Passages, triples and nodes that belong together; None where all of them do.

    Attributes
    ----------
    chunks
        (n_chunks,) bool.
    triples
        (n_triples,) bool.
    nodes
        (n_nodes,) bool.
    """

    def __init__(
        self,
        view: SnapshotView,
        chunks: NDArray[np.bool_] | None = None,
        triples: NDArray[np.bool_] | None = None,
        nodes: NDArray[np.bool_] | None = None,
    ) -> None:
        self._view = view
        self.chunks = chunks
        self.triples = triples
        self.nodes = nodes

    @property
    def is_empty(self) -> bool:
        """Whether no passage and no triple is left."""
        view = self._view
        no_chunks = not view.n_chunks if self.chunks is None else not self.chunks.any()
        no_triples = not view.n_triples if self.triples is None else not self.triples.any()
        return no_chunks and no_triples

    @cached_property
    def into_triples(self) -> NDArray[np.bool_]:
        """The triples in the order of the edges from tails to heads; empty where all are allowed."""
        empty: NDArray[np.bool_] = np.empty(0, bool)
        return empty if self.triples is None else self.triples[self._view.into.triple]

    @cached_property
    def out_triples(self) -> NDArray[np.bool_]:
        """The triples in the order of the edges from heads to tails; empty where all are allowed."""
        return np.empty(0, bool) if self.triples is None else self.triples

    @cached_property
    def strings(self) -> NDArray[np.bool_] | None:
        """The names that an end of a triple here bears, (n_strings,) bool."""
        if self.triples is None:
            return None
        view = self._view
        ids = np.flatnonzero(self.triples).astype(np.int32)
        mask = np.zeros(len(view.strings["vectors"]), bool)
        node_string = view.strings["node_string"]
        for ends in (view.heads(ids), view.out.indices[ids]):
            mask[node_string[ends]] = True
        return mask

    @cached_property
    def communities(self) -> NDArray[np.bool_] | None:
        """The communities with a member here, (n_communities,) bool."""
        return None if self.nodes is None else any_of(self._view.members, self.nodes)

    @property
    def n_bytes(self) -> int:
        """About how much memory it takes."""
        masks = (self.chunks, self.triples, self.triples, self.nodes)
        return sum(mask.nbytes for mask in masks if mask is not None)


def any_of(rows: Provenance, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which rows of a CSR hold an entry that is in the mask."""
    counts = np.zeros(len(rows.chunks) + 1, np.int32)
    np.cumsum(mask[rows.chunks], out=counts[1:], dtype=np.int32)
    at = counts[rows.indptr]
    found: NDArray[np.bool_] = at[1:] > at[:-1]
    return found


def _both(left: NDArray[np.bool_] | None, right: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    return right if left is None else left if right is None else left & right


class Masks:
    """What may be returned for a question, and what is rather wanted.

    Attributes
    ----------
    allowed
        Nothing else is returned.
    preferred
        What a soft filter names, among what is allowed; None without one.
    notes
        What a reader should know of it.
    types, where
        The filters.
    """

    def __init__(
        self,
        allowed: Selection,
        preferred: Selection | None = None,
        notes: tuple[str, ...] = (),
        types: TypeFilter | None = None,
        where: MetadataFilter | None = None,
    ) -> None:
        self.allowed = allowed
        self.preferred = preferred
        self.notes = notes
        self.types = types
        self.where = where

    @property
    def is_hard(self) -> bool:
        """Whether types leave things out."""
        return self.types is not None and self.types.hard

    @property
    def leave_nothing(self) -> bool:
        """Whether a filter on passages leaves nothing."""
        return self.where is not None and self.allowed.is_empty

    @property
    def n_bytes(self) -> int:
        """About how much memory they take."""
        return self.allowed.n_bytes + (0 if self.preferred is None else self.preferred.n_bytes)


class FilterMasks:
    """Masks of filters over one snapshot; those last used are kept, up to 256 MiB of them.

    Parameters
    ----------
    view
        The snapshot.
    """

    def __init__(self, view: SnapshotView) -> None:
        self._view = view
        self._kept: OrderedDict[tuple[TypeFilter | None, MetadataFilter | None], Masks] = OrderedDict()
        self._lock = threading.Lock()
        self._everything = Masks(Selection(view))
        self.columns = MetadataColumns(view.snapshot, view.n_chunks)

    def of(self, types: TypeFilter | None, where: MetadataFilter | None) -> Masks:
        """Return the masks of two filters.

        A hard filter that leaves nothing is softened, and a note says so.

        Raises
        ------
        QueryError
            A condition is on a field that there is not.
        """
        types = types or None
        if types is None and where is None:
            return self._everything
        key = (types, where)
        with self._lock:
            masks = self._kept.get(key)
            if masks is not None:
                self._kept.move_to_end(key)
                return masks
        masks = self._made(types, where)
        with self._lock:
            self._kept[key] = masks
            while len(self._kept) > 1 and sum(kept.n_bytes for kept in self._kept.values()) > _MOST_BYTES:
                self._kept.popitem(last=False)
        return masks

    def _made(self, types: TypeFilter | None, where: MetadataFilter | None) -> Masks:
        notes: list[str] = []
        allowed = Selection(self._view)
        if where is not None:
            chunks = self.columns.mask(where)
            if not chunks.any():
                notes.append(f"no passage meets {where}: {self.columns.why_none(where)}")
            allowed = self._stated_in(chunks)
        if types is None or (where is not None and allowed.is_empty):
            return Masks(allowed, None, tuple(notes), None, where)
        named = self._of_types(types, allowed, notes)
        if named is None:
            among = f" among the passages that meet {where}" if where is not None else ""
            notes.append(f"nothing is of {types}{among}; the types are left aside")
            return Masks(allowed, None, tuple(notes), None, where)
        if not types.hard:
            return Masks(allowed, named, tuple(notes), types, where)
        return Masks(named, None, tuple(notes), types, where)

    def softened(self, masks: Masks) -> Masks:
        """Return hard masks as soft ones, with a note."""
        assert masks.types is not None
        soft = self.of(replace(masks.types, hard=False), masks.where)
        notes = (*soft.notes, f"no route finds anything of {masks.types}; it only ranks what is found higher")
        return Masks(soft.allowed, soft.preferred, notes, soft.types, soft.where)

    def _stated_in(self, chunks: NDArray[np.bool_]) -> Selection:
        """Return what some passages state and mention."""
        view = self._view
        return Selection(view, chunks, any_of(view.triple_chunks, chunks), any_of(view.node_chunks, chunks))

    def _of_types(self, types: TypeFilter, allowed: Selection, notes: list[str]) -> Selection | None:
        """Return what is of the wanted types among what is allowed; None where that is nothing."""
        view = self._view
        entities = wanted_entities(view, types, notes)
        triples = wanted_triples(view, types, notes)
        nodes = np.ones(view.n_nodes, bool)
        if entities is not None:
            nodes[: view.n_entities], nodes[view.n_entities :] = entities, False
            ends = nodes[view.out.indices]
            ends |= np.repeat(nodes, np.diff(view.out.indptr))
            triples = _both(triples, ends)
        triples = _both(triples, allowed.triples)
        if triples is None:
            return None
        if entities is None:
            # Only triples are named: what counts are their ends.
            nodes = np.zeros(view.n_nodes, bool)
            ids = np.flatnonzero(triples).astype(np.int32)
            nodes[view.heads(ids)] = nodes[view.out.indices[ids]] = True
        if allowed.nodes is not None:
            nodes &= allowed.nodes
        chunks = any_of(view.chunk_triples, triples)
        if entities is not None and not (types.relations or types.attributes):
            rows = np.repeat(nodes, np.diff(view.node_chunks.indptr))
            chunks[view.node_chunks.chunks[rows]] = True
        selected = Selection(view, _both(chunks, allowed.chunks), triples, nodes)
        return None if selected.is_empty else selected
