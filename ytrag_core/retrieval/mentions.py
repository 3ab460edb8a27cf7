"""Names in a question, weighted by how much each tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.lexicon import Lexicon, NameMatch

__all__ = ["Mention", "find_mentions", "residual_question", "telling"]

_LEAST_SHARE = 0.1
_N_BEARERS = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in the question.

    Attributes
    ----------
    surface
        As written.
    nodes
        All nodes of that name, ascending.
    weight
        Share of the question's names, in [0, 1]; the weights of a question sum to 1.
    spans
        Where it stands in the question: offsets in characters, end exclusive.
    """

    surface: str
    nodes: tuple[int, ...]
    weight: float
    spans: tuple[tuple[int, int], ...]


def find_mentions(
    question: str,
    lexicon: Lexicon,
    settings: RetrievalSettings,
    name_of: Callable[[int], str] | None = None,
) -> list[Mention]:
    """Return the names in a question, in order of appearance, each node set once.

    A name weighs its rarest word's inverse document frequency to a power, so that "country" does not drown
    "Damerjog"; beside a capitalised name one in lower case counts little. Where the question writes all its
    names in lower case, or everything in capitals, the nodes' own names say which are capitalised.

    Parameters
    ----------
    question
        The question.
    lexicon
        The names.
    settings
        The weights.
    name_of
        Display name of a node; without it, the names of a question in one case all count in full.
    """
    matches = lexicon.match(question)
    common = _common_nouns(question, matches, name_of)
    weights: dict[tuple[int, ...], float] = {}
    places: dict[tuple[int, ...], list[NameMatch]] = {}
    for match, is_common in zip(matches, common, strict=True):
        weight = lexicon.rarity(match.units) ** settings.mention_power
        if is_common:
            weight *= settings.common_noun_factor
        places.setdefault(match.nodes, []).append(match)
        weights[match.nodes] = max(weights.get(match.nodes, 0.0), weight)
    total = sum(weights.values())
    if total <= 0.0:
        return []
    return [
        Mention(
            places[nodes][0].surface,
            nodes,
            weight / total,
            tuple((match.start, match.end) for match in places[nodes]),
        )
        for nodes, weight in weights.items()
    ]


def _common_nouns(
    question: str, matches: Sequence[NameMatch], name_of: Callable[[int], str] | None
) -> list[bool]:
    """Return which matches are in lower case beside a capitalised one."""
    written: list[tuple[str, ...]] = [(match.surface,) for match in matches]
    shouted = question == question.upper()
    if name_of is not None and (shouted or not any(map(_is_capitalised, written))):
        written = [tuple(map(name_of, match.nodes[:_N_BEARERS])) for match in matches]
    capitalised = [_is_capitalised(names) for names in written]
    if not any(capitalised):
        return [False] * len(matches)
    return [
        not capital and match.surface.lower() != match.surface.upper()
        for match, capital in zip(matches, capitalised, strict=True)
    ]


def _is_capitalised(names: Sequence[str]) -> bool:
    return any(name != name.lower() for name in names)


def telling(mentions: Sequence[Mention]) -> list[Mention]:
    """Return the mentions that weigh at least a tenth of the heaviest: names rather than common words."""
    least = _LEAST_SHARE * max((mention.weight for mention in mentions), default=0.0)
    return [mention for mention in mentions if mention.weight >= least]


def residual_question(question: str, mentions: Sequence[Mention]) -> str:
    """Return what a question asks about its names: the question without them, empty if nothing is left."""
    kept, position = [], 0
    for start, end in sorted(span for mention in mentions for span in mention.spans):
        kept.append(question[position:start])
        position = max(position, end)
    kept.append(question[position:])
    return " ".join(" ".join(kept).split())
