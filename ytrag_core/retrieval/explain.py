"""Why a passage is in the evidence, or why it is not: what each route says of it, and by what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.retrieval.fusion import RankedChunks
    from ytrag_core.retrieval.model import Evidence, PathHit, TripleHit
    from ytrag_core.retrieval.routes import Run
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["ChunkExplanation", "Explanation", "NamedNode", "RouteShare", "Seed", "explain_evidence"]

_N_SEEDS = 12
_N_NODES = 4
_DIGITS = 6


@dataclass(frozen=True, slots=True)
class RouteShare:
    """What one route says of a passage.

    Attributes
    ----------
    rank
        Its place among what the route put forward, from 1; None where it is not among it.
    score
        The route's own score; None where it gives none.
    contribution
        What it adds to the fused score.
    """

    rank: int | None
    score: float | None
    contribution: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"rank": self.rank, "score": self.score, "contribution": self.contribution}


@dataclass(frozen=True, slots=True)
class NamedNode:
    """A name found in the question.

    Attributes
    ----------
    surface
        As written there.
    weight
        Its share of the question's names.
    names
        The nodes it may mean, a few of them, with their types in brackets.
    """

    surface: str
    weight: float
    names: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"surface": self.surface, "weight": self.weight, "names": list(self.names)}


@dataclass(frozen=True, slots=True)
class Seed:
    """Where the walk starts.

    Attributes
    ----------
    kind
        `node` or `chunk`.
    name
        The node's name, or the chunk's id.
    mass
        The share of all walks that start there.
    """

    kind: str
    name: str
    mass: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"kind": self.kind, "name": self.name, "mass": self.mass}


@dataclass(frozen=True, slots=True)
class ChunkExplanation:
    """Why a passage stands where it does.

    Attributes
    ----------
    rank
        Its place among all passages that any route put forward, from 1; None where none did.
    score
        The fused score; the contributions of the routes sum to it, unless a reranker changed it.
    routes
        Route -> what it says. `types` is what a soft filter adds, `rerank` what a reranker says.
    names
        Names in the question whose nodes it mentions.
    triples
        Facts found for the question that it states.
    paths
        Paths along such facts.
    seed_mass
        The share of all walks that start at it; 0 where none do.
    """

    id: str
    title: str
    rank: int | None
    score: float
    routes: Mapping[str, RouteShare]
    names: tuple[str, ...]
    triples: tuple[TripleHit, ...]
    paths: tuple[PathHit, ...]
    seed_mass: float

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "id": self.id,
            "title": self.title,
            "rank": self.rank,
            "score": self.score,
            "routes": {route: share.to_json() for route, share in self.routes.items()},
            "names": list(self.names),
            "triples": [triple.to_json() for triple in self.triples],
            "paths": [path.to_json() for path in self.paths],
            "seed_mass": self.seed_mass,
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why the evidence of a question is as it is.

    Attributes
    ----------
    question, read_as, notes
        As in the evidence.
    names
        Names found in the question, as they stand there.
    seeds
        Where the walk starts, most mass first; a few of them.
    n_seeds
        How many there are.
    trust
        Route -> how far the question tells its texts apart, in [0, 1]; 1 where it is not named.
    chunks
        The passages, best first.
    """

    question: str
    read_as: str
    names: tuple[NamedNode, ...]
    seeds: tuple[Seed, ...]
    n_seeds: int
    trust: Mapping[str, float]
    chunks: tuple[ChunkExplanation, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `explain`."""
        return {
            "question": self.question,
            "read_as": self.read_as,
            "names": [name.to_json() for name in self.names],
            "seeds": [seed.to_json() for seed in self.seeds],
            "n_seeds": self.n_seeds,
            "trust": dict(self.trust),
            "chunks": [chunk.to_json() for chunk in self.chunks],
            "notes": list(self.notes),
        }


def explain_evidence(
    view: SnapshotView, run: Run, ranked: RankedChunks, evidence: Evidence, rows: Sequence[int]
) -> Explanation:
    """Return why some passages stand where they do.

    Parameters
    ----------
    view
        The snapshot.
    run
        The routes, after they ran.
    ranked
        The fused ranking of all candidates.
    evidence
        All that was found, with all candidates for passages.
    rows
        The passages to explain.
    """
    place_of = {row: place for place, row in enumerate(ranked.rows.tolist())}
    pairs = zip(run.seeds.vertices.tolist(), run.seeds.mass.tolist(), strict=True)
    seeds = sorted(pairs, key=lambda seed: (-seed[1], seed[0]))
    return Explanation(
        question=evidence.question,
        read_as=evidence.read_as,
        names=tuple(
            NamedNode(
                mention.surface,
                round(mention.weight, _DIGITS),
                tuple(_called(view, node) for node in mention.nodes[:_N_NODES]),
            )
            for mention in sorted(run.mentions, key=lambda mention: -mention.weight)
        ),
        seeds=tuple(_seed(view, vertex, mass) for vertex, mass in seeds[:_N_SEEDS]),
        n_seeds=len(seeds),
        trust={route: round(trust, _DIGITS) for route, trust in run.trust.items()},
        chunks=tuple(_explained(view, run, ranked, evidence, row, place_of.get(row)) for row in rows),
        notes=evidence.notes,
    )


def _called(view: SnapshotView, node: int) -> str:
    kind = view.type_of(node)
    return f"{view.name(node)} ({kind})" if kind else view.name(node)


def _seed(view: SnapshotView, vertex: int, mass: float) -> Seed:
    if vertex >= view.n_nodes:
        return Seed("chunk", view.chunks.id(vertex - view.n_nodes), round(mass, _DIGITS))
    return Seed("node", view.name(vertex), round(mass, _DIGITS))


def _explained(
    view: SnapshotView, run: Run, ranked: RankedChunks, evidence: Evidence, row: int, place: int | None
) -> ChunkExplanation:
    chunk_id, title = view.chunks.id(row), view.chunks.title(row)
    mentioned = view.node_chunks

    def holds(node: int) -> bool:
        start, end = mentioned.indptr[node : node + 2].tolist()
        at = start + int(np.searchsorted(mentioned.chunks[start:end], row))
        return at < end and int(mentioned.chunks[at]) == row

    return ChunkExplanation(
        id=chunk_id,
        title=title,
        rank=None if place is None else place + 1,
        score=0.0 if place is None else round(float(ranked.scores[place]), _DIGITS),
        routes={} if place is None else _shares(ranked, place),
        names=tuple(mention.surface for mention in run.mentions if any(map(holds, mention.nodes))),
        triples=tuple(triple for triple in evidence.triples if chunk_id in triple.chunk_ids),
        paths=tuple(
            path for path in evidence.paths if any(chunk_id in triple.chunk_ids for triple in path.triples)
        ),
        seed_mass=round(run.seeds.at(view.n_nodes + row), _DIGITS),
    )


def _shares(ranked: RankedChunks, place: int) -> dict[str, RouteShare]:
    """Return what each route says of a candidate, most telling first."""
    shares = {}
    for route in dict.fromkeys([*ranked.parts, *ranked.raw, *ranked.routes[place]]):
        rank = ranked.routes[place].get(route)
        raw = ranked.raw.get(route)
        score = None if raw is None else float(raw[place])
        part = ranked.parts.get(route)
        added = 0.0 if part is None else float(part[place])
        if rank is not None or added:
            known = score is not None and np.isfinite(score)
            shares[route] = RouteShare(
                rank, round(float(score or 0.0), _DIGITS) if known else None, round(added, _DIGITS)
            )
    return dict(sorted(shares.items(), key=lambda share: (-share[1].contribution, share[0])))
