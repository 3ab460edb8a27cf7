"""An answer held against its evidence: what is supported stays cited, what is not is said or struck out."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ytrag_core.agent.citations import citations_inside, rewrite_citations
from ytrag_core.agent.claims import OWN_MARK, contributes, split_claims, states, words_of
from ytrag_core.agent.language import phrase
from ytrag_core.agent.model import RemovedCitation

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from ytrag_core.agent.claims import Claim
    from ytrag_core.agent.state import Draft, Finding, Mode
    from ytrag_core.llm.language import Language

__all__ = ["Grounded", "GroundedClaim", "Settled", "ground", "settle", "stating"]

_N_MORE = 2
"""A claim may rest on so many passages beside those that it cites, and on one if it cites none."""
_N_CANDIDATES = 12
_WIDE = re.compile(r"[\u2e80-\u9fff]")
_WIDE_END = re.compile(r"[\u2e80-\u9fff\uff00-\uffef][。.！？!?\s]*\Z")


@dataclass(frozen=True, slots=True)
class GroundedClaim:
    """A claim and the passages that carry it.

    Attributes
    ----------
    claim
        The claim as it stands in the answer.
    chunk_ids
        The cited passages that carry a part of it, then those that were found to.
    is_supported
        Whether they state it.
    is_own
        Whether the model says that it knows it by itself.
    """

    claim: Claim
    chunk_ids: tuple[str, ...]
    is_supported: bool
    is_own: bool

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "text": self.claim.text,
            "supported": self.is_supported,
            "own": self.is_own,
            "chunk_ids": list(self.chunk_ids),
        }


@dataclass(frozen=True, slots=True)
class Grounded:
    """A draft with what was found out about it.

    Attributes
    ----------
    draft
        The draft.
    claims
        Its claims, in order.
    removed
        Citations that do not exist or do not state what they are cited for.
    """

    draft: Draft
    claims: tuple[GroundedClaim, ...]
    removed: tuple[RemovedCitation, ...]

    @property
    def unsupported(self) -> list[int]:
        """Positions of the claims that nothing supports and that are not said to be the model's own."""
        return [
            place for place, claim in enumerate(self.claims) if not claim.is_supported and not claim.is_own
        ]

    def with_support(self, place: int, chunk_ids: Sequence[str]) -> Grounded:
        """Return the same with one claim supported by some passages."""
        claims = list(self.claims)
        kept = dict.fromkeys([*claims[place].chunk_ids, *chunk_ids])
        claims[place] = replace(claims[place], chunk_ids=tuple(kept), is_supported=True)
        rescued = set(chunk_ids)
        removed = tuple(one for one in self.removed if one.citation not in rescued)
        return replace(self, claims=tuple(claims), removed=removed)


@dataclass(frozen=True, slots=True)
class Settled:
    """The text for a reader, and what was done to it.

    Attributes
    ----------
    text
        Number n cites `chunk_ids[n - 1]`.
    chunk_ids
        Each cited chunk once, in order of first mention.
    own
        Statements that no passage carries.
    struck
        Statements that were taken out.
    """

    text: str
    chunk_ids: tuple[str, ...]
    own: tuple[str, ...]
    struck: tuple[str, ...]


def ground(
    draft: Draft,
    question: str,
    texts: Mapping[str, str],
    facts: Sequence[str],
    *,
    mode: Mode,
    links: Collection[str] = (),
) -> Grounded:
    """Hold a draft against the evidence.

    Parameters
    ----------
    draft
        The answer as the model wrote it.
    question
        What was asked; what it says itself needs no support.
    texts
        Every passage that was found, the likeliest first: chunk id -> title and text.
    facts
        Facts of the graph, one a line: they support a claim without being cited.
    mode
        In `reject`, what the model marks as its own knowledge counts as unsupported.
    links
        Passages that answered a sub-question on the way: a citation of one stays, whatever of the claim is
        in it.

    Notes
    -----
    A claim without a word that could be checked ("Yes.") holds when it cites a passage. Where the cited
    passages do not state a claim, the fewest of the others that do are cited instead; for a claim without a
    name or number, of those that the answer cites elsewhere.
    """
    draft = replace(draft, text=citations_inside(draft.text))
    removed: dict[tuple[str, str], RemovedCitation] = {}

    def remove(citation: str, reason: str) -> None:
        removed.setdefault((citation, reason), RemovedCitation(citation, reason))

    for citation in draft.unknown:
        remove(citation, "no such passage was shown")
    claims: list[GroundedClaim] = []
    split = split_claims(draft.text)
    has_inline = any(claim.numbers for claim in split)
    near = [
        *draft.cited,
        *(
            draft.chunk_ids[number - 1]
            for claim in split
            for number in claim.numbers
            if 1 <= number <= len(draft.chunk_ids)
        ),
    ]
    for claim in split:
        cited: dict[str, None] = {}
        for number in claim.numbers:
            if 1 <= number <= len(draft.chunk_ids):
                cited[draft.chunk_ids[number - 1]] = None
            else:
                remove(str(number), "no such passage was shown")
        if not has_inline:
            cited.update(dict.fromkeys(draft.cited))
        one = _grounded(claim, list(cited), question, texts, facts, mode, near)
        if one.is_supported:
            linking = [chunk_id for chunk_id in cited if chunk_id in links and chunk_id in texts]
            one = replace(one, chunk_ids=tuple(dict.fromkeys([*one.chunk_ids, *linking])))
        if has_inline:
            for chunk_id in cited:
                if chunk_id not in one.chunk_ids:
                    remove(chunk_id, "the passage does not state what it is cited for")
        claims.append(one)
    if not has_inline:
        used = {chunk_id for one in claims for chunk_id in one.chunk_ids}
        for chunk_id in draft.cited:
            if chunk_id not in used:
                remove(chunk_id, "the passage does not state what it is cited for")
    return Grounded(draft, tuple(claims), tuple(removed.values()))


def _grounded(
    claim: Claim,
    cited: Sequence[str],
    question: str,
    texts: Mapping[str, str],
    facts: Sequence[str],
    mode: Mode,
    near: Collection[str],
) -> GroundedClaim:
    if claim.is_own and mode == "open":
        return GroundedClaim(claim, (), is_supported=False, is_own=True)
    if not words_of(claim.text).content:
        known = tuple(chunk_id for chunk_id in cited if chunk_id in texts)
        return GroundedClaim(claim, known, is_supported=bool(known), is_own=False)
    kept = [chunk_id for chunk_id in cited if chunk_id in texts and contributes(claim.text, texts[chunk_id])]
    if kept and states(claim.text, [texts[chunk_id] for chunk_id in kept], given=question):
        return GroundedClaim(claim, tuple(kept), is_supported=True, is_own=False)
    is_named = bool(words_of(claim.text).telling) or _WIDE.search(claim.text) is not None
    likely = texts if is_named else {one: texts[one] for one in near if one in texts}
    found = _support(claim.text, question, likely, kept)
    if found:
        return GroundedClaim(claim, tuple(found), is_supported=True, is_own=False)
    beside = [texts[chunk_id] for chunk_id in kept]
    in_facts = is_named and any(states(claim.text, [fact, *beside], given=question) for fact in facts)
    return GroundedClaim(claim, tuple(kept), is_supported=in_facts, is_own=False)


def stating(finding: Finding, question: str, texts: Mapping[str, str]) -> tuple[str, ...]:
    """Return the passages that state the answer to a sub-question, empty where none do.

    Parameters
    ----------
    finding
        The answer, and what is cited for it.
    question
        The sub-question.
    texts
        The passages that were shown: chunk id -> title and text.

    Notes
    -----
    Small models find an answer and cite the passage next to it: where those cited do not state it, the other
    ones are looked through.
    """
    answer = finding.answer
    kept = [one for one in finding.chunk_ids if one in texts and contributes(answer, texts[one])]
    if states(answer, [texts[one] for one in kept], given=question):
        return tuple(kept)
    return tuple(_support(answer, question, texts, kept))


def _support(claim: str, question: str, texts: Mapping[str, str], kept: Sequence[str]) -> list[str]:
    """Return the fewest passages that state a claim, those already cited kept; empty where none do."""
    said = words_of(claim)
    asked = words_of(question).content
    order = {chunk_id: place for place, chunk_id in enumerate(texts)}

    def overlap(chunk_id: str) -> tuple[int, int, int]:
        held = words_of(texts[chunk_id]).content
        return -len(said.content & held), -len(asked & held), order[chunk_id]

    candidates = sorted((chunk_id for chunk_id in texts if chunk_id not in kept), key=overlap)
    candidates = [chunk_id for chunk_id in candidates[:_N_CANDIDATES] if contributes(claim, texts[chunk_id])]
    for n_more in range(1, (_N_MORE if kept else 1) + 1):
        for chosen in itertools.combinations(candidates, n_more):
            together = [*kept, *chosen]
            if states(claim, [texts[chunk_id] for chunk_id in together], given=question):
                return together
    return []


def settle(grounded: Grounded, mode: Mode, language: Language) -> Settled:
    """Return the answer for a reader.

    Parameters
    ----------
    grounded
        The draft with its support.
    mode
        `open`: what nothing supports is marked as the model's own knowledge. `reject`: it is struck out, and
        a text without any statement is left empty.
    language
        Of the mark.
    """
    draft = grounded.draft
    order: dict[str, int] = {}
    own: list[str] = []
    struck: list[str] = []
    pieces: list[str] = []
    at = 0
    for one in grounded.claims:
        start, end = one.claim.span
        gap = draft.text[at:start]
        at = end
        if one.is_supported:
            pieces += [gap, _cited(draft.text[start:end], one, draft, order)]
        elif mode == "reject":
            struck.append(one.claim.text)
        else:
            own.append(one.claim.text)
            pieces += [gap, _with_tail(one.claim.text, phrase("own", language))]
    text = "".join(pieces)
    if not grounded.claims and mode == "open":
        text = rewrite_citations(draft.text, lambda _: None)
    return Settled(OWN_MARK.sub("", text).strip(), tuple(order), tuple(own), tuple(struck))


def _cited(piece: str, one: GroundedClaim, draft: Draft, order: dict[str, int]) -> str:
    """Return a claim's text with the citations that hold, those that were found behind it."""
    inline: set[str] = set()

    def renumber(number: int) -> int | None:
        if not 1 <= number <= len(draft.chunk_ids):
            return None
        chunk_id = draft.chunk_ids[number - 1]
        if chunk_id not in one.chunk_ids:
            return None
        inline.add(chunk_id)
        return order.setdefault(chunk_id, len(order) + 1)

    text = OWN_MARK.sub("", rewrite_citations(piece, renumber)).strip()
    added = [
        order.setdefault(chunk_id, len(order) + 1) for chunk_id in one.chunk_ids if chunk_id not in inline
    ]
    if not added:
        return text
    blank = "" if _WIDE_END.search(text) else " "
    return _with_tail(text, f"{blank}[{', '.join(map(str, added))}]")


def _with_tail(text: str, tail: str) -> str:
    """Return a sentence with something put before its full stop."""
    body = text.rstrip("。.!！?？;； ")
    return f"{body}{tail}{text[len(body) :].rstrip()}"
