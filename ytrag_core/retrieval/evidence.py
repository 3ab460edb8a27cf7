"""Ids to readable evidence: names, hints for homonyms, passages, provenance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.kernels.gather import gather_rows
from ytrag_core.retrieval.lexical import question_tokens
from ytrag_core.retrieval.model import ChunkHit, CommunityHit, Evidence, PathHit, SentenceSpan, TripleHit
from ytrag_core.retrieval.sentences import Span, sentences_that_tell

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from ytrag_core.graph.tables import Provenance
    from ytrag_core.retrieval.fusion import RankedChunks
    from ytrag_core.retrieval.paths import Path
    from ytrag_core.retrieval.routes import Run
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Cards", "assemble_evidence"]

_DIGITS = 6
_LOOKED_AT = 8
_N_STATING = 4


def assemble_evidence(view: SnapshotView, question: str, ranked: RankedChunks, run: Run) -> Evidence:
    """Return evidence with names in place of ids, its timings still empty.

    Parameters
    ----------
    view
        The snapshot.
    question
        As it was asked.
    ranked
        The passages to show.
    run
        What the routes found.
    """
    rows = ranked.rows.tolist()
    cards = run.cards
    bearing = cards.find_sentences(rows, question)
    chunks = []
    for row, chunk, score, routes, sentences in zip(
        rows, view.chunks.fields(rows), ranked.scores.tolist(), ranked.routes, bearing, strict=True
    ):
        chunks.append(
            ChunkHit(
                id=chunk.id,
                title=chunk.title,
                text=chunk.text,
                score=round(score, _DIGITS),
                routes=routes,
                page=chunk.page,
                heading=chunk.heading,
                document=chunk.document,
                start=chunk.start,
                sentences=tuple(sentences),
                duplicates=tuple(map(view.chunks.id, ranked.copies.get(row, ()))),
            )
        )
    facts = cards.facts
    scores = run.facts.scores[: len(facts)].tolist()
    return Evidence(
        question=question,
        triples=tuple(
            cards.hit(triple, round(score, _DIGITS)) for triple, score in zip(facts, scores, strict=True)
        ),
        chunks=tuple(chunks),
        communities=tuple(
            CommunityHit(community, view.community_names[community], round(score, _DIGITS))
            for community, score in run.communities
        ),
        paths=tuple(cards.path(path) for path in run.paths),
        timings_ms={},
    )


class Cards:
    """Names, hints and provenance of some triples, looked up once each.

    Parameters
    ----------
    view
        The snapshot.
    facts
        Ids of triples, best first.
    paths
        Paths of further ones.
    allowed
        (n_chunks,) bool, the passages that may be named as those that state a fact; all without it.
    """

    def __init__(
        self,
        view: SnapshotView,
        facts: Sequence[int],
        paths: Sequence[Path],
        allowed: NDArray[np.bool_] | None,
    ) -> None:
        self.facts = facts
        triples = sorted({*facts, *(triple for path in paths for triple in path.triples)})
        edges = np.array(triples, np.int32)
        heads, tails = view.heads(edges).tolist(), view.out.indices[edges].tolist()
        self._view = view
        self._ends = dict(zip(triples, zip(heads, tails, strict=True), strict=True))
        nodes = sorted({*heads, *tails})
        node_ids = np.array(nodes, np.int32)
        names = self._name = dict(zip(nodes, view.names.names(node_ids), strict=True))
        called, relations = view.relation_names, view.out.relation[edges].tolist()
        self._names = {
            triple: (names[head], called[relation], names[tail])
            for triple, head, relation, tail in zip(triples, heads, relations, tails, strict=True)
        }
        self._homonyms = view.homonyms(node_ids)
        self._rows = dict(zip(triples, _stated_in(view.triple_chunks, edges, allowed), strict=True))
        stating = sorted({row for rows in self._rows.values() for row in rows})
        ids = dict(zip(stating, view.chunks.ids_of(stating), strict=True))
        self._chunk_ids = {triple: tuple([ids[row] for row in rows]) for triple, rows in self._rows.items()}
        self._sentences: dict[int, tuple[SentenceSpan, ...]] = {}

    def find_sentences(self, rows: Sequence[int], question: str) -> list[list[Span]]:
        """Find the sentences that state the triples; return those of some passages that bear on a question.

        A triple is looked for in the first few passages that state it.
        """
        view = self._view
        terms = dict.fromkeys(question_tokens(question)) if rows else {}
        places = {row: place for place, row in enumerate(rows)}
        stated, owners = [], []
        for position, (triple, stating) in enumerate(self._rows.items()):
            for row, chunk_id in zip(stating[:_N_STATING], self._chunk_ids[triple], strict=False):
                stated.append((position, places.setdefault(row, len(places))))
                owners.append((triple, chunk_id))
        if not places:
            return []
        spans, bearing = sentences_that_tell(
            view.chunks.passages(list(places)),
            len(rows),
            list(self._names.values()),
            stated,
            {term: view.lexical.rarity(term) for term in terms},
        )
        for (triple, chunk_id), found in zip(owners, spans, strict=True):
            if found:
                here = [SentenceSpan(chunk_id, *span) for span in found]
                self._sentences[triple] = (*self._sentences.get(triple, ()), *here)
        return bearing

    def hit(self, triple: int, score: float) -> TripleHit:
        """Return a triple, each end told apart by what is not in the triple."""
        ends = self._ends[triple]
        return self._called(triple, score, *(self._hint(node, ends) for node in ends))

    def path(self, path: Path) -> PathHit:
        """Return a path that calls a node the same in each of its triples, and no two nodes alike."""
        score = round(path.score, _DIGITS)
        if self._homonyms.isdisjoint(path.nodes):
            return PathHit(tuple([self._called(triple, score) for triple in path.triples]), score)
        hints: dict[int, str] = {}
        taken: set[tuple[str, str]] = set()
        for node in path.nodes:
            hint = self._hint(node, path.nodes)
            called = (self._name[node], hint)
            hints[node] = f"{hint} #{node}".lstrip() if called in taken else hint
            taken.add(called)
        return PathHit(
            tuple(
                self._called(triple, score, *(hints[node] for node in self._ends[triple]))
                for triple in path.triples
            ),
            score,
        )

    def _called(self, triple: int, score: float, head_hint: str = "", tail_hint: str = "") -> TripleHit:
        head, relation, tail = self._names[triple]
        return TripleHit(
            head,
            relation,
            tail,
            score,
            self._chunk_ids[triple],
            head_hint,
            tail_hint,
            self._sentences.get(triple, ()),
        )

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


def _stated_in(
    provenance: Provenance, triples: NDArray[np.int32], allowed: NDArray[np.bool_] | None
) -> list[list[int]]:
    """Return the rows of the passages that state each triple, of those that are allowed."""
    positions, owner = gather_rows(provenance.indptr, triples, 0)
    rows = provenance.chunks[positions]
    if allowed is not None:
        kept = allowed[rows]
        rows, owner = rows[kept], owner[kept]
    stated: list[list[int]] = [[] for _ in range(triples.shape[0])]
    for row, position in zip(rows.tolist(), owner.tolist(), strict=True):
        stated[position].append(row)
    return stated
