"""Questions that take two triples to answer, and questions about the biggest hubs: what path search finds.

Run as `python benches/serving.py KB --hops 2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Chain", "make_chains", "measure_chains", "measure_hubs"]

_ENGLISH = (
    "What is the {second} of the {first} of {head}?",
    "Which {second} does the {first} of {head} have?",
    "{head}: {first}, then {second}?",
)
_CHINESE = ("{head}{first}的地方{second}哪里？", "{head}的{first}的{second}是什么？")
_ABOUT_HUBS = ("What is linked to {head}?", "Which {first} has the {second} of {head}?", "{head}")
_TRIES = 200
_TOP = 5
_WARM = 50
_N_HUBS = 20


@dataclass(frozen=True, slots=True)
class Chain:
    """A question with the two triples that answer it."""

    text: str
    triples: tuple[tuple[str, str, str], tuple[str, str, str]]


def make_chains(
    view: SnapshotView,
    n: int,
    seed: int,
    sample: str,
    words: Callable[[str, bool], str],
    is_chinese: Callable[[str], bool],
    most: int,
) -> list[Chain]:
    """Draw two triples that follow one another and word a question for each pair.

    The head bears a name that no other node bears; chains of the same two relations from it are at most
    `most`, for no path search can tell equally right ones apart. `heads` draws heads evenly, `triples` draws
    triples and takes their heads. Where a knowledge base has too few chains, fewer are returned.
    """
    rng = np.random.default_rng(seed)
    degree = np.diff(view.out.indptr)
    is_own = (np.diff(view.strings["string_nodes_indptr"])[view.strings["node_string"]] == 1) & (degree > 0)
    own = np.flatnonzero(is_own)
    if sample == "triples":
        own = np.repeat(own, degree[own])
    chains: list[Chain] = []
    for _ in range(_TRIES * n if own.shape[0] else 0):
        if len(chains) == n:
            break
        head = int(rng.choice(own))
        found = _chain(view, rng, head)
        if found is None or _alike(view, head, found[0][1], found[1][1]) > most:
            continue
        names = [
            (view.name(start), view.relation_names[relation], view.name(end))
            for start, relation, end in found
        ]
        (name, first, _), (_, second, _) = names
        templates = _CHINESE if is_chinese(name + first) else _ENGLISH
        first, second = (words(text, bool(rng.integers(2))) for text in (first, second))
        text = templates[int(rng.integers(len(templates)))].format(head=name, first=first, second=second)
        chains.append(Chain(text, (names[0], names[1])))
    return chains


def _facts(view: SnapshotView, node: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    start, stop = view.out.indptr[node : node + 2]
    return view.out.relation[start:stop], view.out.indices[start:stop]


def _chain(
    view: SnapshotView, rng: np.random.Generator, head: int
) -> tuple[tuple[int, int, int], ...] | None:
    """Walk two triples at random; None where the second leads nowhere or back."""
    relations, tails = _facts(view, head)
    first = int(rng.integers(tails.shape[0]))
    bridge = int(tails[first])
    further, ends = _facts(view, bridge)
    if bridge == head or not ends.shape[0]:
        return None
    second = int(rng.integers(ends.shape[0]))
    end = int(ends[second])
    if end in (head, bridge):
        return None
    return (head, int(relations[first]), bridge), (bridge, int(further[second]), end)


def _alike(view: SnapshotView, head: int, first: int, second: int) -> int:
    """Count the chains of two relations that start at a node."""
    relations, tails = _facts(view, head)
    return sum(
        int((_facts(view, bridge)[0] == second).sum()) for bridge in tails[relations == first].tolist()
    )


def _rank(evidence: Evidence, chain: Chain) -> int:
    """Return the rank, from 1, of the path of the two triples; 0 where missing."""
    for rank, path in enumerate(evidence.paths, 1):
        if {(hit.head, hit.relation, hit.tail) for hit in path.triples} == set(chain.triples):
            return rank
    return 0


def measure_chains(kb: KnowledgeBase, chains: Sequence[Chain], n_misses: int) -> dict[str, Any]:
    """Return how often the right path is found, and what path search takes."""
    for chain in chains[:_WARM]:
        kb.retrieve(chain.text)
    kb.encoder.forget_queries()
    answers = [kb.retrieve(chain.text) for chain in chains]
    ranks = np.array([_rank(evidence, chain) for evidence, chain in zip(answers, chains, strict=True)])
    found = (ranks > 0) & (ranks <= _TOP)
    for miss in np.flatnonzero(~found)[:n_misses].tolist():
        print(f"\n{ranks[miss]} {chains[miss]}")
        for path in answers[miss].paths[:3]:
            print(f"    {path.score:.3f} {[(hit.head, hit.relation, hit.tail) for hit in path.triples]}")
    return {
        "questions": len(chains),
        "path_first": round(float((ranks == 1).mean()), 4),
        f"path_in_top_{_TOP}": round(float(found.mean()), 4),
        "path_ms": _milliseconds(answers, "path"),
        "ms": _milliseconds(answers, "total"),
    }


def _milliseconds(answers: Sequence[Evidence], stage: str) -> dict[str, float]:
    spent = np.array([evidence.timings_ms.get(stage, 0.0) for evidence in answers])
    return {
        "p50": round(float(np.percentile(spent, 50)), 2),
        "p95": round(float(np.percentile(spent, 95)), 2),
        "max": round(float(spent.max()), 2),
    }


def measure_hubs(kb: KnowledgeBase, words: Callable[[str, bool], str]) -> dict[str, Any]:
    """Ask about the nodes with most triples, three questions each; return what path search takes at worst."""
    view = kb.view
    degree = np.diff(view.out.indptr) + np.diff(view.into.indptr)
    hubs = np.argsort(-degree, kind="stable")[:_N_HUBS].tolist()
    answers: list[tuple[str, Evidence]] = []
    for node in hubs:
        start, stop = view.into.indptr[node : node + 2]
        ids = view.into.relation[start:stop] if stop > start else _facts(view, node)[0]
        common = np.bincount(ids).argsort()[::-1]
        first, second = (words(view.relation_names[int(ids_)], True) for ids_ in (common[0], common[-1]))
        texts = [text.format(head=view.name(node), first=first, second=second) for text in _ABOUT_HUBS]
        answers += [(text, kb.retrieve(text)) for text in texts]
    worst = max(answers, key=lambda answer: answer[1].timings_ms.get("path", 0.0))
    return {
        "hubs": len(hubs),
        "degrees": [int(degree[node]) for node in (hubs[0], hubs[-1])],
        "path_ms": _milliseconds([evidence for _, evidence in answers], "path"),
        "slowest": worst[0],
    }
