"""English names, dates, quantities and quoted titles in a sentence, found without a model."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ytrag_core.extraction.words import (
    CANONICAL,
    COMMON_OPENERS,
    DEMONYMS,
    EVENT_WORDS,
    FUNCTION_WORDS,
    HONORIFICS,
    MONTHS,
    NAME_LINKS,
    NO_NAMES,
    ORGANISATION_WORDS,
    PLACES,
)

__all__ = ["Mention", "find_mentions", "tidy_name"]


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
    r"|percent|per\ cent|people|inhabitants|residents|minutes|hours|years|episodes|copies|students|members|seats"
    r"|MW|GHz|MHz|mph)"
)
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_QUANTITY = re.compile(
    rf"[$€£¥₹]\s?(?:{_NUMBER})(?:\ (?:thousand|million|billion|trillion|crore))?"
    rf"|\b(?:{_NUMBER})(?:\ (?:thousand|million|billion|trillion))?(?:\s?%|[\ -]{_UNIT}\b)"
    rf"|\b\d{{1,3}}(?:,\d{{3}})+\b|\b(?:{_NUMBER})\ (?:million|billion|trillion)\b"
)
_QUOTED = re.compile(r"[\"“]([^\"“”\n]{2,80})[\"”]")
_TOKEN = re.compile(
    r"""
      (?:[^\W\d_]\.){2,}
    | [^\W\d_]\.(?=[ ]?[^\W\d_])
    | (?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|Prof|Gen|Col|Lt|Capt|Rev|Gov|Sen|Mt|Ft|No|vs)\.(?=\s)
    | [^\W_]+(?:['’\-–&.+][^\W_]+)*
    """,
    re.VERBOSE,
)
_JOIN = re.compile(r"[ ]|\n[ ]?|[ ][-–&+][ ]")
_NAME_OF = re.compile(rf"\b(?!{_MONTH})[A-Z][\w-]+ of $")
_CAPITALS = re.compile(r" ((?:[A-Z][\w-]+ ){0,4}[A-Z][\w-]+)")
_POSSESSIVE = re.compile(r"['’]s?$")
_ROMAN = re.compile(r"[IVX]{1,5}")
_EDGES = " \t\n\"'“”‘’.,;:!?()[]-–—*_"

_ORDINALS = frozenset({"first", "second"})
_GROUPS = frozenset(
    {"people's", "women's", "men's", "children's", "king's", "queen's", "world's", "mother's"}
)
_KEEPS_POSSESSIVE = frozenset(
    {"college", "university", "hospital", "court", "church", "cathedral", "day", "school"}
)
_NEVER_ALONE = DEMONYMS | MONTHS | FUNCTION_WORDS | HONORIFICS | NO_NAMES
_CANONICAL_NAMES = frozenset(CANONICAL.values())
_BEHIND_COMMA = frozenset({"D.C.", "D.C", "DC", "Jr.", "Jr", "Sr.", "Sr", "Inc", "Inc.", "LLC", "Ltd"})
_MAY_FOLLOW_ORG = frozenset({"for", "and", "on", "in"})
_JOINS_WITH_AT = frozenset({"university", "college", "school"})
_LONGEST_NAME = 10


def tidy_name(text: str) -> str:
    """Return a name without surrounding punctuation, a leading article and a possessive ending.

    Parameters
    ----------
    text
        A name as it stands in the text.
    """
    name = " ".join(text.replace(" - ", "-").split()).replace("’", "'")
    for article in ("The ", "the ", "A ", "An "):
        rest = name.removeprefix(article)
        if rest != name and rest[:1].isalnum():
            name = rest
            break
    if name.endswith(("'s", "'")):
        name = _POSSESSIVE.sub("", name)
    keeps_dot = name.endswith(".") and (
        "." in name[:-1] or name.endswith(("Jr.", "Sr.", "Inc.", "Co.", "Ltd."))
    )
    name = name.strip(_EDGES)
    if "(" in name and ")" not in name:
        name += ")"
    if keeps_dot and not name.endswith("."):
        name += "."
    return CANONICAL.get(name, name)


def find_mentions(text: str, start: int, end: int, inner_names: frozenset[str]) -> list[Mention]:
    """Return what a sentence names, in order and without overlap.

    Parameters
    ----------
    text
        The chunk.
    start, end
        The sentence's offsets.
    inner_names
        Words that stand capitalised inside some sentence of the chunk, or in its title: at the start of a
        sentence these are names.
    """
    mentions = _quoted(text, start, end)
    taken = [(mention.start, mention.end) for mention in mentions]
    for pattern, kind in ((_DATE, "date"), (_QUANTITY, "quantity")):
        for match in pattern.finditer(text, start, end):
            if _is_free(*match.span(), taken) and not _in_name(text, *match.span()):
                mentions.append(Mention(match.start(), match.end(), match[0].strip(), kind))
                taken.append(match.span())
    taken.sort()
    tokens = [token for token in _TOKEN.finditer(text, start, end) if _is_free(*token.span(), taken)]
    mentions.extend(_names(text, tokens, start, inner_names))
    mentions.sort(key=lambda mention: mention.start)
    return mentions


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


def _quoted(text: str, start: int, end: int) -> list[Mention]:
    found = []
    for match in _QUOTED.finditer(text, start, end):
        inside = match[1].strip(" ,.")
        words = inside.split()
        is_title = inside and (inside[0].isupper() or inside[0].isdigit()) and len(words) <= 8
        if is_title and (len(words) <= 3 or sum(word[0].isupper() for word in words) * 2 >= len(words)):
            found.append(Mention(match.start(), match.end(), tidy_name(inside), "work"))
    return found


def _names(text: str, tokens: list[re.Match[str]], start: int, inner_names: frozenset[str]) -> list[Mention]:
    found = []
    i = 0
    while i < len(tokens):
        if not _opens_name(text, tokens, i, start, inner_names):
            i += 1
            continue
        last = _run(text, tokens, i)
        found.extend(_mentions_of_run(text, tokens[i : last + 1]))
        i = last + 1
    return found


def _is_capital(word: str) -> bool:
    return word[0].isupper() or (
        len(word) > 2 and word[0].islower() and word[1].isupper() and word[:2] != "mR"
    )


def _opens_name(
    text: str, tokens: list[re.Match[str]], i: int, start: int, inner_names: frozenset[str]
) -> bool:
    word = tokens[i][0]
    if word[0].isdigit():
        following = tokens[i + 1] if i + 1 < len(tokens) else None
        is_ordinal = word[-2:] in {"st", "nd", "rd", "th"} or (len(word) == 4 and word.isdigit())
        return (
            is_ordinal and following is not None and _is_capital(following[0]) and _adjoins(text, tokens, i)
        )
    if not _is_capital(word):
        return False
    lower = _POSSESSIVE.sub("", word.lower().replace("’", "'"))
    if lower in FUNCTION_WORDS:
        return (
            word.isupper()
            and 1 < len(word) < 5
            and lower in {"it", "us", "who"}
            and tokens[i].start() > start
        )
    if i > 0 and not _follows_break(text, tokens, i):
        return True
    opens_sentence = i == 0 or text[tokens[i - 1].end() : tokens[i].start()].strip(" \"'“‘(") in {
        ".",
        "!",
        "?",
    }
    if (
        not opens_sentence
        or word in inner_names
        or lower in inner_names
        or (word.isupper() and len(word) > 1)
    ):
        return True
    continues = i + 1 < len(tokens) and _adjoins(text, tokens, i) and _is_capital(tokens[i + 1][0])
    if lower in COMMON_OPENERS:
        return continues and (
            lower in HONORIFICS or lower in ORGANISATION_WORDS or lower in {"royal", "new", "great"}
        )
    return continues or not lower.endswith(
        ("ing", "ly", "ed", "tion", "tions", "ness", "ment", "ments", "ity")
    )


def _follows_break(text: str, tokens: list[re.Match[str]], i: int) -> bool:
    return any(mark in text[tokens[i - 1].end() : tokens[i].start()] for mark in '.!?\n"“:')


def _adjoins(text: str, tokens: list[re.Match[str]], i: int) -> bool:
    between = text[tokens[i].end() : tokens[i + 1].start()]
    if between == ", ":
        return tokens[i + 1][0] in _BEHIND_COMMA
    return between == " " or _JOIN.fullmatch(between) is not None


def _run(text: str, tokens: list[re.Match[str]], first: int) -> int:
    """Return the position of the last token of the name that opens at `first`."""
    last = first
    while last + 1 < len(tokens) and last - first < _LONGEST_NAME and _adjoins(text, tokens, last):
        word = tokens[last + 1][0]
        lower = word.lower()
        is_number = word.isdigit() and len(word) < 4 and tokens[last][0].lower() not in MONTHS
        is_world_war = tokens[last][0] == "War" and word in {"One", "Two"}
        if (
            is_number
            or is_world_war
            or (_is_capital(word) and (lower not in FUNCTION_WORDS or _ROMAN.fullmatch(word)))
        ):
            last += 1
            continue
        reach = _across_links(text, tokens, first, last)
        if reach == last:
            break
        last = reach
    return last


def _across_links(text: str, tokens: list[re.Match[str]], first: int, last: int) -> int:
    """Return the position behind `of the`, `de la`, `and` and the like where a name goes on, else `last`."""
    so_far = {token[0].lower() for token in tokens[first : last + 1]}
    is_organisation = not so_far.isdisjoint(ORGANISATION_WORDS)
    at = last + 1
    while at + 1 < len(tokens) and at - last < 3 and _adjoins(text, tokens, at):
        link = tokens[at][0]
        may_link = (
            link in {"of", "the"}
            or (link == "and" and f"{tokens[last][0]} and {tokens[at + 1][0]}" in PLACES)
            or link in NAME_LINKS
            or (is_organisation and link in _MAY_FOLLOW_ORG and (link != "in" or "institute" in so_far))
            or (link == "at" and not so_far.isdisjoint(_JOINS_WITH_AT))
            or (link == "and" and "of" in so_far and is_organisation)
        )
        if not may_link or (link == "the" and at == last + 1 and len(tokens[at + 1][0]) < 4):
            return last
        following = tokens[at + 1][0]
        is_year = link == "of" and len(following) == 4 and following.isdigit()
        if is_year or (_is_capital(following) and following.lower() not in FUNCTION_WORDS | MONTHS):
            return at + 1
        at += 1
    return last


def _mentions_of_run(text: str, run: list[re.Match[str]]) -> list[Mention]:
    """Split a run at possessives and drop what is no name by itself."""
    found = []
    first = 0
    for i, token in enumerate(run):
        is_last = i == len(run) - 1
        word = token[0].lower().replace("’", "'")
        splits = not is_last and word.endswith("'s") and word not in _GROUPS
        if not is_last and not (splits and run[i + 1][0].lower() not in _KEEPS_POSSESSIVE):
            continue
        words = run[first : i + 1]
        first = i + 1
        while words and words[0][0].lower() in {"the", "of", "and", "a", "an"}:
            words = words[1:]
        while words and words[-1][0].lower() in {"the", "of", "and", "for", "de"}:
            words = words[:-1]
        if not words:
            continue
        name = tidy_name(text[words[0].start() : words[-1].end()])
        if _is_name(name):
            found.append(Mention(words[0].start(), words[-1].end(), name, "name"))
    return found


def _is_name(name: str) -> bool:
    if len(name) < 2 or name.isdigit():
        return False
    if " " in name or name in _CANONICAL_NAMES:
        return True
    return name.lower() not in _NEVER_ALONE
