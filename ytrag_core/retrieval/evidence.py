"""Ids to readable evidence: names, hints for homonyms, passages, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.retrieval.model import ChunkHit, CommunityHit, Evidence, PathHit, TripleHit

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ytrag_core.retrieval.fusion import RankedChunks
    from ytrag_core.retrieval.paths import Path
    from ytrag_core.retrieval.triples import ScoredTriples
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["assemble_evidence"]

_DIGITS = 6
_LOOKED_AT = 8


def assemble_evidence(
    view: SnapshotView,
    question: str,
    ranked: RankedChunks,
    facts: ScoredTriples,
    paths: Sequence[Path],
    communities: Sequence[tuple[int, float]],
    top_k: int,
) -> Evidence:
    """Return evidence with names in place of ids, its timings still empty."""
    chunks = []
    for row, score, routes in zip(ranked.rows.tolist(), ranked.scores.tolist(), ranked.routes, strict=True):
        chunk_id, title, text = view.chunk(row)
        copies = tuple(map(view.chunk_id, ranked.copies.get(row, ())))
        place = view.place(row)
        chunks.append(ChunkHit(chunk_id, title, text, round(score, _DIGITS), routes, *place, copies))
    shown = {triple for path in paths for triple in path.triples} | set(facts.ids[:top_k].tolist())
    cards = _Cards(view, sorted(shown))
    return Evidence(
        question=question,
        triples=tuple(
            cards.hit(triple, round(score, _DIGITS))
            for triple, score in zip(facts.ids[:top_k].tolist(), facts.scores[:top_k].tolist(), strict=True)
        ),
        chunks=tuple(chunks),
        communities=tuple(
            CommunityHit(community, view.community_names[community], round(score, _DIGITS))
            for community, score in communities
        ),
        paths=tuple(cards.path(path) for path in paths),
        timings_ms={},
    )


class _Cards:
    """Names, hints and provenance of some triples, looked up once each.

    Parameters
    ----------
    view
        The snapshot.
    triples
        Ids, ascending.
    """

    def __init__(self, view: SnapshotView, triples: Sequence[int]) -> None:
        ids = np.array(triples, np.int32)
        heads, tails = view.heads(ids).tolist(), view.out.indices[ids].tolist()
        self._view = view
        self._ends = dict(zip(triples, zip(heads, tails, strict=True), strict=True))
        self._relation = dict(zip(triples, view.out.relation[ids].tolist(), strict=True))
        nodes = sorted({*heads, *tails})
        self._name = {node: view.name(node) for node in nodes}
        self._homonyms = view.homonyms(np.array(nodes, np.int32))
        self._chunk_ids = {triple: self._stated_in(triple) for triple in triples}

    def _stated_in(self, triple: int) -> tuple[str, ...]:
        provenance = self._view.triple_chunks
        start, end = provenance.indptr[triple : triple + 2].tolist()
        return tuple(map(self._view.chunk_id, provenance.chunks[start:end].tolist())) if end > start else ()

    def hit(self, triple: int, score: float, hints: Mapping[int, str] | None = None) -> TripleHit:
        """Return a triple; without `hints`, each end is told apart by what is not in the triple."""
        head, tail = self._ends[triple]
        return TripleHit(
            head=self._name[head],
            relation=self._view.relation_names[self._relation[triple]],
            tail=self._name[tail],
            score=score,
            chunk_ids=self._chunk_ids[triple],
            head_hint=self._hint(head, (head, tail)) if hints is None else hints[head],
            tail_hint=self._hint(tail, (head, tail)) if hints is None else hints[tail],
        )

    def path(self, path: Path) -> PathHit:
        """Return a path that calls a node the same in each of its triples, and no two nodes alike."""
        score = round(path.score, _DIGITS)
        hints: dict[int, str] = {}
        taken: set[tuple[str, str]] = set()
        for node in path.nodes:
            hint = self._hint(node, path.nodes)
            called = (self._name[node], hint)
            hints[node] = f"{hint} #{node}".lstrip() if called in taken else hint
            taken.add(called)
        return PathHit(tuple(self.hit(triple, score, hints) for triple in path.triples), score)

    def _hint(self, node: int, beside: Collection[int]) -> str:
        """Return what tells a node from others of its name: its type and a neighbour that is not beside it.

        Empty where no other node has the name.
        """
        if node not in self._homonyms:
            return ""
        view = self._view
        parts = [view.type_of(node)]
        for csr in (view.out, view.into):
            start, end = csr.indptr[node : node + 2].tolist()
            end = min(end, start + _LOOKED_AT)
            for neighbour, relation in zip(
                csr.indices[start:end].tolist(), csr.relation[start:end].tolist(), strict=True
            ):
                if neighbour not in beside:
                    name = self._name.get(neighbour) or view.name(neighbour)
                    here, there = ("", name) if csr is view.out else (name, "")
                    parts.append(f"{here} {view.relation_names[relation]} {there}".strip())
                    return ", ".join(part for part in parts if part)
        return parts[0]
