"""Ids to readable evidence: names, hints for homonyms, passages, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ytrag_core.retrieval.fusion import RankedChunks
from ytrag_core.retrieval.model import ChunkHit, CommunityHit, Evidence, PathHit, TripleHit
from ytrag_core.retrieval.paths import Path
from ytrag_core.retrieval.triples import ScoredTriples
from ytrag_core.retrieval.view import SnapshotView

__all__ = ["assemble_evidence"]

_DIGITS = 6


def assemble_evidence(
    view: SnapshotView,
    question: str,
    ranked: RankedChunks,
    facts: ScoredTriples,
    paths: Sequence[Path],
    communities: Sequence[tuple[int, float]],
    top_k: int,
    timings_ms: Mapping[str, float],
) -> Evidence:
    """Return evidence with names in place of ids; see `ytrag_core.retrieval.model`."""
    chunks = []
    for row, score, routes in zip(ranked.rows.tolist(), ranked.scores.tolist(), ranked.routes, strict=True):
        chunk_id, title, text = view.chunk(row)
        chunks.append(ChunkHit(chunk_id, title, text, round(score, _DIGITS), routes))
    return Evidence(
        question=question,
        triples=tuple(
            _triple(view, triple, score)
            for triple, score in zip(facts.ids[:top_k].tolist(), facts.scores[:top_k].tolist(), strict=True)
        ),
        chunks=tuple(chunks),
        communities=tuple(
            CommunityHit(community, view.community_names[community], round(score, _DIGITS))
            for community, score in communities
        ),
        paths=tuple(
            PathHit(
                tuple(_triple(view, triple, path.score) for triple in path.triples),
                round(path.score, _DIGITS),
            )
            for path in paths
        ),
        timings_ms=timings_ms,
    )


def _triple(view: SnapshotView, triple: int, score: float) -> TripleHit:
    head = int(view.heads(np.array([triple], np.int32))[0])
    tail = int(view.out.indices[triple])
    provenance = view.triple_chunks
    rows = provenance.chunks[provenance.indptr[triple] : provenance.indptr[triple + 1]].tolist()
    return TripleHit(
        head=view.name(head),
        relation=view.relation_names[int(view.out.relation[triple])],
        tail=view.name(tail),
        score=round(score, _DIGITS),
        chunk_ids=tuple(view.chunk_id(row) for row in rows),
        head_hint=_hint(view, head, tail),
        tail_hint=_hint(view, tail, head),
    )


def _hint(view: SnapshotView, node: int, beside: int) -> str:
    """Return what tells a node from others of its name: its type and one neighbour, empty if it is alone."""
    if not view.is_homonym(node):
        return ""
    parts = [view.type_of(node)]
    for csr in (view.out, view.into):
        start, end = csr.indptr[node : node + 2].tolist()
        neighbours = [other for other in csr.indices[start : min(end, start + 8)].tolist() if other != beside]
        if neighbours:
            relation = view.relation_names[int(csr.relation[start])] if csr is view.out else ""
            parts.append(f"{relation} {view.name(neighbours[0])}".strip())
            break
    return ", ".join(part for part in parts if part)
