"""Ids to readable evidence: names, hints for homonyms, passages, provenance."""

from __future__ import annotations

from dataclasses import replace
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
        chunks.append(ChunkHit(chunk_id, title, text, round(score, _DIGITS), routes))
    shown = {triple for path in paths for triple in path.triples} | set(facts.ids[:top_k].tolist())
    triples = {triple: _triple(view, triple) for triple in sorted(shown)}
    return Evidence(
        question=question,
        triples=tuple(
            replace(triples[triple], score=round(score, _DIGITS))
            for triple, score in zip(facts.ids[:top_k].tolist(), facts.scores[:top_k].tolist(), strict=True)
        ),
        chunks=tuple(chunks),
        communities=tuple(
            CommunityHit(community, view.community_names[community], round(score, _DIGITS))
            for community, score in communities
        ),
        paths=tuple(_path(view, path, triples) for path in paths),
        timings_ms={},
    )


def _path(view: SnapshotView, path: Path, triples: Mapping[int, TripleHit]) -> PathHit:
    """Return a path that calls a node the same in each of its triples, and no two nodes alike."""
    score = round(path.score, _DIGITS)
    hits = [replace(triples[triple], score=score) for triple in path.triples]
    if any(hit.head_hint or hit.tail_hint for hit in hits):
        hints: dict[int, str] = {}
        taken: set[tuple[str, str]] = set()
        for node in path.nodes:
            hint = _hint(view, node, path.nodes)
            called = (view.name(node), hint)
            hints[node] = f"{hint} #{node}".lstrip() if called in taken else hint
            taken.add(called)
        ids = np.array(path.triples, np.int32)
        heads, tails = view.heads(ids).tolist(), view.out.indices[ids].tolist()
        hits = [
            replace(hit, head_hint=hints[head], tail_hint=hints[tail])
            for hit, head, tail in zip(hits, heads, tails, strict=True)
        ]
    return PathHit(tuple(hits), score)


def _triple(view: SnapshotView, triple: int) -> TripleHit:
    """Return a triple with its provenance, its score still zero."""
    head = int(view.heads(np.array([triple], np.int32))[0])
    tail = int(view.out.indices[triple])
    provenance = view.triple_chunks
    rows = provenance.chunks[provenance.indptr[triple] : provenance.indptr[triple + 1]].tolist()
    return TripleHit(
        head=view.name(head),
        relation=view.relation_names[int(view.out.relation[triple])],
        tail=view.name(tail),
        score=0.0,
        chunk_ids=tuple(view.chunk_id(row) for row in rows),
        head_hint=_hint(view, head, (head, tail)),
        tail_hint=_hint(view, tail, (head, tail)),
    )


def _hint(view: SnapshotView, node: int, beside: Collection[int]) -> str:
    """Return what tells a node from others of its name: its type and a neighbour that is not beside it.

    Empty where no other node has the name.
    """
    if not view.is_homonym(node):
        return ""
    parts = [view.type_of(node)]
    for csr in (view.out, view.into):
        start, end = csr.indptr[node : node + 2].tolist()
        for position in range(start, min(end, start + _LOOKED_AT)):
            neighbour = int(csr.indices[position])
            if neighbour not in beside:
                relation = view.relation_names[int(csr.relation[position])]
                here, there = ("", view.name(neighbour)) if csr is view.out else (view.name(neighbour), "")
                parts.append(f"{here} {relation} {there}".strip())
                return ", ".join(part for part in parts if part)
    return parts[0]
