"""Names in a question, weighted by how much each tells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.lexicon import Lexicon, NameMatch

__all__ = ["FUNCTION_WORDS", "Mention", "find_mentions", "residual_question", "telling"]

_LEAST_SHARE = 0.1
_N_BEARERS = 4
_COMPARED_BEARERS = 64
_OPENING = " \t\r\n\u3000\"'“‘«「『(["
_SENTENCE_ENDS = ".!?。！？"
_LOOKED_BACK = 64
FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about an and any are as at be been but by can could did do does for from had has have he her him his
        how i if in into is it its many me much my no not of on or our she should so some such tell than that
        the their them then there these they this those to us was we were what when where which who whom whose
        why will with would you your
        """,
    )
)


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in the question.

    Attributes
    ----------
    surface
        As written.
    nodes
        All nodes of that name: first those whose own name stands in the question letter by letter, then the
        others, ascending in each part.
    n_exact
        How many the first are; 0 also where names were not compared.
    weight
        Share of the question's names, in [0, 1]; the weights of a question sum to 1.
    spans
        Where it stands in the question: offsets in characters, end exclusive.
    """

    surface: str
    nodes: tuple[int, ...]
    weight: float
    spans: tuple[tuple[int, int], ...]
    n_exact: int = 0


def find_mentions(
    question: str,
    lexicon: Lexicon,
    settings: RetrievalSettings,
    name_of: Callable[[int], str] | None = None,
) -> list[Mention]:
    """Return the names in a question, in order of appearance, each node set once.

    A name weighs its rarest word's inverse document frequency to a power, so that "country" does not drown
    "Damerjog"; beside a capitalised name one in lower case counts little. Where the question writes all its
    names in lower case, or everything in capitals, and at the start of a sentence, the nodes' own names say
    which are capitalised. A name that is nothing but function words ("is", "which", "of the") counts least,
    unless it is capitalised inside a sentence.

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
    factors = _factors(question, matches, settings.common_noun_factor, name_of)
    weights: dict[tuple[int, ...], float] = {}
    places: dict[tuple[int, ...], list[NameMatch]] = {}
    rarities = lexicon.rarities([match.units for match in matches])
    for match, factor, rarity in zip(matches, factors, rarities, strict=True):
        weight = factor * rarity**settings.mention_power
        places.setdefault(match.nodes, []).append(match)
        weights[match.nodes] = max(weights.get(match.nodes, 0.0), weight)
    total = sum(weights.values())
    if total <= 0.0:
        return []
    mentions = []
    for nodes, weight in weights.items():
        spans = tuple((match.start, match.end) for match in places[nodes])
        ordered, n_exact = _exact_first(question, nodes, name_of)
        mentions.append(Mention(places[nodes][0].surface, ordered, weight / total, spans, n_exact))
    return mentions


def _exact_first(
    question: str, nodes: tuple[int, ...], name_of: Callable[[int], str] | None
) -> tuple[tuple[int, ...], int]:
    """Return the nodes whose names stand in the question as they are, how many; then the others."""
    if name_of is None or len(nodes) == 1:
        return nodes, 0
    is_exact = [name_of(node) in question for node in nodes[:_COMPARED_BEARERS]]
    exact = tuple(node for node, same in zip(nodes, is_exact, strict=False) if same)
    return (*exact, *(node for node in nodes if node not in exact)), len(exact)


def _factors(
    question: str,
    matches: Sequence[NameMatch],
    common_noun_factor: float,
    name_of: Callable[[int], str] | None,
) -> list[float]:
    """Return what each match counts: less in lower case beside a capitalised one, least as function words."""
    shouted = question == question.upper()
    starts = [_starts_a_sentence(question, match.start) for match in matches]
    functional = [FUNCTION_WORDS.issuperset(match.units) for match in matches]
    capitalised = [
        _is_capitalised([match.surface]) and not (shouted or at_start)
        for match, at_start in zip(matches, starts, strict=True)
    ]
    trust_names = shouted or not any(capitalised)
    for position, match in enumerate(matches):
        if capitalised[position]:
            functional[position] = False
        elif trust_names or starts[position]:
            names = [match.surface] if name_of is None else list(map(name_of, match.nodes[:_N_BEARERS]))
            capitalised[position] = not functional[position] and _is_capitalised(names)
    any_capitalised = any(capitalised)
    factors = []
    for match, capital, is_functional in zip(matches, capitalised, functional, strict=True):
        has_case = match.surface.lower() != match.surface.upper()
        if is_functional:
            factors.append(common_noun_factor**2)
        elif any_capitalised and not capital and has_case:
            factors.append(common_noun_factor)
        else:
            factors.append(1.0)
    return factors


def _starts_a_sentence(question: str, start: int) -> bool:
    """Return whether nothing but opening quotes and brackets stands between a place and a sentence's end."""
    before = question[max(0, start - _LOOKED_BACK) : start].rstrip(_OPENING)
    return before[-1] in _SENTENCE_ENDS if before else start <= _LOOKED_BACK


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
