"""Claims of an answer, and whether a passage states them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from ytrag_core.agent.citations import cited_numbers, without_citations
from ytrag_core.documents.sentences import split_sentences
from ytrag_core.retrieval.lexical import lexical_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OWN_MARK", "Claim", "Words", "contributes", "split_claims", "states", "words_of"]

OWN_MARK = re.compile(r"[ \t]*[\[【［(（]\s*own(?: knowledge)?\s*[\]】］)）]", re.IGNORECASE)
"""What a model is asked to write behind what it knows by itself."""

_SHARE = 0.6
_CONTRIBUTION = 0.25
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME = re.compile(r"\b[A-Z][^\W_]+")
_OPENER = re.compile(
    r"\A\W*(?:additionally|although|as|based|being|born|built|combining|consequently|considering|created"
    r"|currently|designed|due|educated|established|eventually|finally|following|founded|furthermore|given"
    r"|having|however|initially|invented|known|launched|located|made|moreover|named|originally|prior|printed"
    r"|published|raised|since|situated|specifically|together|ultimately|using|working|written)\b"
    r"(?=,? (?-i:[^A-Z]))",
    re.IGNORECASE,
)
"""Words that open a sentence with a capital and are no names."""
_QUOTED = re.compile(r"《([^》]+)》|「([^」]+)」|“([^”]+)”")
_LIST = r"\s*#?\d{1,2}(?:\s*(?:,|、|，|-|and|和|与|及)\s*#?\d{1,2})*"
_SHOWN = (
    r"(?:(?:the|these|those|above|given|provided|retrieved|cited|available|listed|numbered)\s+)*"
    r"(?:passages?|facts?|evidence|information|sources?|texts?|context|documents?)\b(?:\s+(?:above|given|provided))?"
)
_SHOWN_ZH = (
    r"(?:(?:以上|上述|所给|给出的?|提供的?|检索到的?|相关)*(?:段落|文段|事实|资料|材料|证据|信息|原文|文中))"
)
_REFERENCE = re.compile(
    rf"\b(?:based (?:up)?on|according to|as \w+ (?:in|by))\s+{_SHOWN}(?:{_LIST})?"
    rf"|\b(?:passages?|facts?){_LIST}"
    rf"|(?:根据|依据|按照|正如){_SHOWN_ZH}第?(?:{_LIST})?(?:中?的(?:内容|信息|描述|记载))?"
    r"(?:可知|可以得知|可以看出|所述|显示)?"
    rf"|第?(?:段落|事实){_LIST}",
    re.IGNORECASE,
)
"""How an answer speaks of what it was given: this says nothing that a passage could state."""
_CHINESE_NUMBER = re.compile(r"[〇零一二两三四五六七八九十百千万亿]{2,}")
_ENDINGS = ("ingly", "edly", "ing", "ied", "ies", "ed", "es", "ly", "s", "e")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_EMPTY = _words("""
    who whom whose what which when where why how did does do done has have had been being was were is are be
    it its he she they them his her their there here this that these those also so as than then passage
    passages according states stated says said mentions mentioned answer question therefore thus because
    while both either one called named known about into from with for yes no not located situated
    的 了 是 在 和 与 及 也 都 就 由 被 把 对 向 从 这 那 其 他 她 它 该 此 为 根据 段落 文中 提到 所以 因此
    答案 问题 位于 不是 没有 名为 名叫 叫做 叫作 称为 本书 该书 书名 名字 名称
""")


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of an answer.

    Attributes
    ----------
    text
        Without citations and marks.
    span
        Where it stands in the answer, citations and marks included: (start, end).
    numbers
        Passages that it cites, in order, each once.
    is_own
        Whether the model marks it as its own knowledge.
    """

    text: str
    span: tuple[int, int]
    numbers: tuple[int, ...]
    is_own: bool


@dataclass(frozen=True, slots=True)
class Words:
    """What a text says, for comparison.

    Attributes
    ----------
    content
        Stems of its content words.
    telling
        Those of them that stand in names, and its numbers.
    """

    content: frozenset[str]
    telling: frozenset[str]


def split_claims(answer: str) -> list[Claim]:
    """Return the statements of an answer, one a sentence; what has no letter or digit is none."""
    claims: list[Claim] = []
    spans: list[tuple[int, int]] = []
    for start, end in split_sentences(answer):
        rest = OWN_MARK.sub("", without_citations(answer[start:end])).strip()
        if spans and not any(character.isalnum() for character in rest):
            # A citation behind the full stop belongs to the sentence before it.
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    for start, end in spans:
        piece = answer[start:end]
        text = OWN_MARK.sub("", without_citations(piece)).strip()
        if any(character.isalnum() for character in text):
            is_own = OWN_MARK.search(piece) is not None
            claims.append(Claim(text, (start, end), cited_numbers(piece), is_own))
    return claims


@lru_cache(maxsize=4096)
def words_of(text: str) -> Words:
    """Return what a text says."""
    plain = _REFERENCE.sub(" ", unicodedata.normalize("NFKC", text))
    tokens = {_stem(token) for token in lexical_tokens(plain) if token not in _EMPTY}
    numbers = {match.replace(",", "") for match in _NUMBER.findall(plain)}
    numbers |= set(_CHINESE_NUMBER.findall(plain))
    names = {_stem(token) for token in lexical_tokens(" ".join(_NAME.findall(_OPENER.sub("", plain))))}
    quoted = " ".join(part for match in _QUOTED.findall(plain) for part in match if part)
    names |= {_stem(token) for token in lexical_tokens(quoted)}
    return Words(frozenset(tokens | numbers), frozenset(numbers | (names & tokens)))


def states(claim: str, passages: Sequence[str], *, given: str = "") -> bool:
    """Return whether some passages together state a claim, as far as words tell.

    Parameters
    ----------
    claim
        A statement without citations.
    passages
        What is cited for it.
    given
        The question: what it says itself need not be stated again, unless the claim says nothing else.

    Returns
    -------
    bool
        True when every number and every word of a name that the claim adds to the question is in the
        passages, and of its content words at least three in five are there or in the question. A claim that
        adds no name and no number needs three in five of the words that it adds.
    """
    said = words_of(claim)
    wanted = said
    if given:
        asked = words_of(given)
        new = Words(said.content - asked.content, said.telling - asked.telling)
        wanted = new if new.content else said
    if not wanted.content:
        return False
    held: set[str] = set()
    for passage in passages:
        held |= words_of(passage).content
    if not wanted.telling <= held:
        return False
    plain = wanted.content - wanted.telling
    if not wanted.telling:
        return len(plain & held) >= _SHARE * len(plain)
    return len(said.content & (held | words_of(given).content)) >= _SHARE * len(said.content)


def contributes(claim: str, passage: str) -> bool:
    """Return whether a passage carries a part of a claim: a name or number, or a quarter of its words."""
    said, held = words_of(claim), words_of(passage).content
    if said.telling & held:
        return True
    rest = said.content - said.telling
    return bool(rest) and len(rest & held) >= max(1.0, _CONTRIBUTION * len(rest))


def _stem(token: str) -> str:
    """Return a word without its usual endings, so that `built by` and `builds` compare; crude on purpose."""
    if not token.isascii() or not token.isalpha():
        return token
    for ending in _ENDINGS:
        if token.endswith(ending) and len(token) - len(ending) >= 4:
            return token[: -len(ending)]
    return token
