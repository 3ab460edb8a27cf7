"""Chooses the chain of facts that links the question's names to an answer."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from ytrag_core.agent.paths import chain, node_name
from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.agent.paths import Hop
    from ytrag_core.retrieval.model import Evidence, PathHit, TripleHit

__all__ = ["is_telling", "linking_path"]

_COVERAGE_WEIGHT = 0.5
_UNEXPLAINED_COST = 0.1
_SECOND_PASSAGE_GAIN = 0.1
_WANTED_NUMBER_GAIN, _UNWANTED_NUMBER_COST = 0.15, 0.2
_N_PASSAGES = 10
_ASKS_NUMBER = re.compile(
    r"\b(?:when|years?|dates?|how (?:many|much|long|old|far|tall|high|large|big))\b"
    r"|何时|什么时候|哪一?年|多少|多长|多大|多高|几[年月个次]",
    re.IGNORECASE,
)


def linking_path(evidence: Evidence) -> tuple[TripleHit, ...]:
    """Return the chain that best explains the question, empty when no path was found.

    Parameters
    ----------
    evidence
        What was retrieved.

    Notes
    -----
    A single fact links nothing, so chains of two and more go first. To the retrieval's own score come: the
    share of the question's words that the chain holds, a cost for each hop that adds none to them, a gain
    for resting on two well-placed passages, and whether a number at the end was asked for.
    """
    chains = [path for path in evidence.paths if len(path.triples) > 1] or list(evidence.paths)
    if not chains:
        return ()
    asked = set(lexical_tokens(evidence.question))
    wants_number = _ASKS_NUMBER.search(evidence.question) is not None
    places = {chunk.id: place for place, chunk in enumerate(evidence.chunks[:_N_PASSAGES])}
    scores = [_score(path, asked, places, wants_number=wants_number) for path in chains]
    return chains[scores.index(max(scores))].triples


def is_telling(path: Sequence[TripleHit], question: str) -> bool:
    """Return whether a reader sees at once what a chain has to do with the question.

    It sets out from what the question names, and a word more of the question stands in one of its relations
    or in a name further on. A chain between names that nobody asked about only stands before the passages.

    Parameters
    ----------
    path
        A chain of facts; an empty one tells nothing.
    question
        What was asked.
    """
    if not path:
        return False
    hops = chain(path)
    start = hops[0][0][0]
    asked = set(lexical_tokens(question)) - set(lexical_tokens(start))
    return _plain(start) in _plain(question) and any(_words(hop) & asked for hop in hops)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _score(path: PathHit, asked: set[str], places: Mapping[str, int], *, wants_number: bool) -> float:
    hops = chain(path.triples)
    covered = set(lexical_tokens(node_name(hops[0][0]))) & asked
    gains = []
    for hop in hops:
        gains.append((_words(hop) & asked) - covered)
        covered |= gains[-1]
    has_number = any(character.isdigit() for character in node_name(hops[-1][3]))
    n_unexplained = sum(not gain for gain in gains)
    if has_number:
        n_unexplained -= wants_number and not gains[-1]
    score = path.score + _COVERAGE_WEIGHT * len(covered) / max(1, len(asked))
    score -= _UNEXPLAINED_COST * n_unexplained
    if has_number:
        score += _WANTED_NUMBER_GAIN if wants_number else -_UNWANTED_NUMBER_COST
    return score + _SECOND_PASSAGE_GAIN * (len(_passages(path, places)) > 1)


def _words(hop: Hop) -> set[str]:
    _, relation, _, end = hop
    return set(lexical_tokens(f"{relation} {node_name(end)}"))


def _passages(path: PathHit, places: Mapping[str, int]) -> set[str]:
    """Return the best-placed passage of each fact, where it has one among the first."""
    passages = set()
    for triple in path.triples:
        placed = [chunk_id for chunk_id in triple.chunk_ids if chunk_id in places]
        if placed:
            passages.add(min(placed, key=places.__getitem__))
    return passages
