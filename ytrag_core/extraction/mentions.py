"""English names, dates, quantities and quoted titles in a sentence, found without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ytrag_core.extraction.names import TOKEN, find_names, tidy_name
from ytrag_core.extraction.words import EVENT_WORDS

__all__ = ["Mention", "find_mentions", "title_pattern"]


@dataclass(slots=True)
class Mention:
    """A stretch of a chunk's text that names something.

    Attributes
    ----------
    start, end
        Offsets into the chunk's text.
    name
        The tidied name.
    kind
        `name`, `work` (in quotation marks), `date` or `quantity`.
    """

    start: int
    end: int
    name: str
    kind: str


_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan\.?|Feb\.?|Mar\.|Apr\.?|Jun\.?|Jul\.?|Aug\.?|Sept?\.?|Oct\.?|Nov\.?|Dec\.?)"
)
_DATE = re.compile(
    rf"""\b(?:
      \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{3,4}}\b)?
    | {_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?\b(?:,?\ \d{{4}}\b)?
    | {_MONTH},?\ \d{{4}}\b
    | \d{{4}}-\d{{2}}-\d{{2}}\b
    | \d{{1,2}}(?:st|nd|rd|th)[ -]century\b(?:\ BCE?)?
    | (?:1[0-9]|20)\d0s\b
    | \d{{1,4}}\ (?:BCE?|AD|CE)\b
    | (?:1[0-9]|20)\d\d\b(?!\s*(?:km|m|people|feet|miles|metres|meters|kg)\b)
    )""",
    re.VERBOSE,
)
_UNIT = (
    r"(?:km²|sq\ km|km/h|km|kilomet(?:re|er)s?|met(?:re|er)s?|miles?|feet|ft|kg|tons?|tonnes?|acres|hectares"
    r"|percent|per\ cent|people|inhabitants|residents|minutes|hours|years|episodes|copies|students|members"
    r"|seats"
    r"|MW|GHz|MHz|mph)"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_QUANTITY = re.compile(
    rf"[$€£¥₹]\s?(?:{_NUMBER})(?:\ (?:thousand|million|billion|trillion|crore))?"
    rf"|\b(?:{_NUMBER})(?:\ (?:thousand|million|billion|trillion))?(?:\s?%|[\ -]{_UNIT}\b)"
    rf"|\b\d{{1,3}}(?:,\d{{3}})+\b|\b(?:{_NUMBER})\ (?:million|billion|trillion)\b"
)
_QUOTED = re.compile(r"(?:[\"“]|``)([^\"“”`\n]{2,80}?)(?:[\"”]|'')")
_NAME_OF = re.compile(rf"\b(?!{_MONTH})[A-Z][\w-]+ of $")
_TITLE_GAP = r"(?:[ \n]|[ ]?-[ ]?)"
_CAPITALS = re.compile(r" ((?:[A-Z][\w-]+ ){0,4}[A-Z][\w-]+)")


def title_pattern(title: str) -> re.Pattern[str] | None:
    """Return what finds a title in its own text: in any case where it has several words.

    Parameters
    ----------
    title
        Without a bracket that tells it from others; None is returned for an empty one.
    """
    words = re.split(r"[\s-]+", title)
    if len(title) < 3:
        return None
    flags = re.IGNORECASE if len(words) > 1 else re.NOFLAG
    body = _TITLE_GAP.join(map(re.escape, words))
    return re.compile(rf"(?<!\w){body}(?!\w)", flags)


def find_mentions(
    text: str, start: int, end: int, inner_names: frozenset[str], title: re.Pattern[str] | None = None
) -> list[Mention]:
    """Return what a sentence names, in order and without overlap.

    Parameters
    ----------
    text
        The chunk.
    start, end
        The sentence's offsets.
    inner_names
        Lower-cased words that stand capitalised inside some sentence of the chunk, or in its title: at the
        start of a sentence these are names.
    title
        Finds the title of the chunk; a match is a name as it stands.
    """
    mentions: list[Mention] = []
    taken: list[tuple[int, int]] = []
    if title is not None:
        for match in title.finditer(text, start, end):
            mentions.append(Mention(*match.span(), tidy_name(match[0]), "name"))
            taken.append(match.span())
    for match in _QUOTED.finditer(text, start, end):
        if _is_title(match[1].strip(" ,.")) and _is_free(*match.span(), taken):
            mentions.append(Mention(*match.span(), tidy_name(match[1]), "work"))
            taken.append(match.span())
    for pattern, kind in ((_DATE, "date"), (_QUANTITY, "quantity")):
        for match in pattern.finditer(text, start, end):
            if _is_free(*match.span(), taken) and not _in_name(text, *match.span()):
                mentions.append(Mention(*match.span(), match[0].strip(), kind))
                taken.append(match.span())
    tokens = [token for token in TOKEN.finditer(text, start, end) if _is_free(*token.span(), taken)]
    names = find_names(text, tokens, start, inner_names)
    mentions.extend(Mention(first, last, name, "name") for first, last, name in names)
    mentions.sort(key=lambda mention: mention.start)
    return mentions


def _is_title(quoted: str) -> bool:
    words = quoted.split()
    if not quoted or not (quoted[0].isupper() or quoted[0].isdigit()) or len(words) > 8:
        return False
    return len(words) <= 3 or sum(word[0].isupper() for word in words) * 2 >= len(words)


def _is_free(start: int, end: int, taken: list[tuple[int, int]]) -> bool:
    if not taken:
        return True
    return all(end <= first or start >= last for first, last in taken)


def _in_name(text: str, start: int, end: int) -> bool:
    """Tell whether a year is part of a name, as in 1996 Summer Olympics and Schism of 1054."""
    if end - start != 4:
        return False
    if _NAME_OF.search(text, max(0, start - 30), start):
        return True
    following = _CAPITALS.match(text, end)
    return following is not None and following[1].split()[-1].lower() in EVENT_WORDS
