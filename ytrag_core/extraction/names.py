"""Runs of capitalised words that are names, found without a model."""

from __future__ import annotations

import re

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
    OF_HEADS,
    OFFICES,
    ORGANISATION_WORDS,
    PLACES,
    STRUCTURE_WORDS,
)

__all__ = ["TOKEN", "find_names", "tidy_name"]

TOKEN = re.compile(
    r"""
      (?:[^\W\d_]\.){2,}
    | [^\W\d_]\.(?=[ ]?[^\W\d_])
    | (?:Mr|Mrs|Ms|Dr|St|Jr|Sr|Inc|Prof|Gen|Col|Lt|Capt|Rev|Gov|Sen|Mt|Ft|No|vs)\.(?=\s)
    | [^\W_]+(?:['’\-–&.+][^\W_]+)*
    """,
    re.VERBOSE,
)
_JOIN = re.compile(r"[ ]|\n[ ]?|[ ][-–&+][ ]")
_POSSESSIVE = re.compile(r"['’]s?$")
_ROMAN = re.compile(r"[IVX]{1,5}")
_EDGES = " \t\n\"'“”‘’.,;:!?()[]-–—*_"

_ORDINALS = frozenset({"first", "second"})
_ORDINAL_ENDS = frozenset({"st", "nd", "rd", "th"})
_GROUPS = frozenset(
    {"people's", "women's", "men's", "children's", "king's", "queen's", "world's", "mother's"}
)
_KEEPS_POSSESSIVE = frozenset(
    {"college", "university", "hospital", "court", "church", "cathedral", "day", "school"}
)
_NEVER_ALONE = DEMONYMS | MONTHS | FUNCTION_WORDS | HONORIFICS | NO_NAMES | OFFICES
_RANKS = (
    OFFICES | HONORIFICS | MONTHS | {"prime", "vice", "executive", "major", "brigadier", "managing", "former"}
)
_CANONICAL_NAMES = frozenset(CANONICAL.values())
_BEHIND_COMMA = frozenset({"D.C.", "D.C", "DC", "Jr.", "Jr", "Sr.", "Sr", "Inc", "Inc.", "LLC", "Ltd"})
_AFTER_THE = frozenset({"Great", "Elder", "Younger", "Terrible", "Magnificent", "Conqueror", "Pooh"})
_MAY_FOLLOW_ORGANISATION = frozenset({"for", "and", "on"})
_JOINS_WITH_AT = frozenset({"university", "college", "school"})
_OPENS_WITH_COMMON_WORD = HONORIFICS | ORGANISATION_WORDS | OFFICES | {"royal", "new", "great", "national"}
_COMMON_ENDINGS = ("ing", "ly", "ed", "tion", "tions", "ness", "ment", "ments", "ity")
_LONGEST_NAME = 10

_Token = re.Match[str]


def tidy_name(text: str) -> str:
    """Return a name without surrounding punctuation, a leading article and a possessive ending.

    Parameters
    ----------
    text
        A name as it stands in the text.

    Returns
    -------
    str
        One form for the names in common use of a few countries and wars (US, U.S., USA: United States).
    """
    name = " ".join(text.replace(" - ", "-").split()).replace("’", "'")
    for article in ("The ", "the ", "A ", "An "):
        rest = name.removeprefix(article)
        if rest != name and rest[:1].isalnum():
            name = rest
            break
    if name.endswith(("'s", "'")):
        name = _POSSESSIVE.sub("", name)
    is_abbreviated = name.endswith(("Jr.", "Sr.", "Inc.", "Co.", "Ltd.")) or "." in name[:-1]
    keeps_dot = name.endswith(".") and is_abbreviated
    name = name.strip(_EDGES)
    if "(" in name and ")" not in name:
        name += ")"
    if keeps_dot:
        name += "."
    return CANONICAL.get(name, name)


def find_names(
    text: str, tokens: list[_Token], start: int, inner_names: frozenset[str]
) -> list[tuple[int, int, str]]:
    """Return (start, end, name) of each name in a sentence, in order.

    Parameters
    ----------
    text
        The chunk.
    tokens
        Matches of `TOKEN` in the sentence.
    start
        Where the sentence starts.
    inner_names
        Lower-cased words that stand capitalised inside some sentence of the chunk, or in its title.
    """
    found: list[tuple[int, int, str]] = []
    i = 0
    while i < len(tokens):
        if not _opens_name(text, tokens, i, start, inner_names):
            i += 1
            continue
        last = _run(text, tokens, i)
        found.extend(_names_of_run(text, tokens[i : last + 1]))
        i = last + 1
    return found


def _is_capital(word: str) -> bool:
    if word[0].isupper() or len(word) < 3:
        return word[0].isupper()
    return word[1].isupper() or (word[1] in "'’" and word[2].isupper())


def _opens_name(text: str, tokens: list[_Token], i: int, start: int, inner_names: frozenset[str]) -> bool:
    word = tokens[i][0]
    if not word[0].isdigit():
        return _is_capital(word) and _capital_opens_name(text, tokens, i, start, inner_names)
    is_ordinal = word[-2:] in _ORDINAL_ENDS or (len(word) == 4 and word.isdigit())
    if not is_ordinal or i + 1 == len(tokens) or not _is_capital(tokens[i + 1][0]):
        return False
    return tokens[i + 1][0].lower() not in FUNCTION_WORDS and _adjoins(text, tokens, i)


def _capital_opens_name(
    text: str, tokens: list[_Token], i: int, start: int, inner_names: frozenset[str]
) -> bool:
    word = tokens[i][0]
    lower = _POSSESSIVE.sub("", word.lower())
    if lower in FUNCTION_WORDS:
        if lower in _ORDINALS:
            return i + 1 < len(tokens) and tokens[i + 1][0] == "World"
        return lower == "us" and word == "US"
    before = text[tokens[i - 1].end() if i else start : tokens[i].start()]
    opens_sentence = i == 0 or any(mark in before for mark in '.!?\n"“:')
    if not opens_sentence or lower in inner_names or (len(word) > 1 and word.isupper()):
        return True
    continues = i + 1 < len(tokens) and _is_capital(tokens[i + 1][0]) and _adjoins(text, tokens, i)
    if lower in COMMON_OPENERS:
        return continues and lower in _OPENS_WITH_COMMON_WORD
    return continues or not lower.endswith(_COMMON_ENDINGS)


def _adjoins(text: str, tokens: list[_Token], i: int) -> bool:
    between = text[tokens[i].end() : tokens[i + 1].start()]
    if between == ", ":
        return tokens[i + 1][0] in _BEHIND_COMMA
    return between == " " or _JOIN.fullmatch(between) is not None


def _run(text: str, tokens: list[_Token], first: int) -> int:
    """Return the position of the last token of the name that opens at `first`."""
    last = first
    while last + 1 < len(tokens) and last - first < _LONGEST_NAME and _adjoins(text, tokens, last):
        word = tokens[last + 1][0]
        if _continues(tokens[last][0], word):
            last += 1
            continue
        reach = _across_links(text, tokens, first, last)
        if reach == last:
            break
        last = reach
    return last


def _continues(before: str, word: str) -> bool:
    if word.isdigit():
        return len(word) < 4 and before.lower() not in MONTHS
    if not _is_capital(word):
        return False
    if before == "War" and word in {"One", "Two"}:
        return True
    return word.lower() not in FUNCTION_WORDS or _ROMAN.fullmatch(word) is not None


def _across_links(text: str, tokens: list[_Token], first: int, last: int) -> int:
    """Return the position behind `of the`, `de la`, `and` and the like where a name goes on, else `last`."""
    at = last + 1
    while at + 1 < len(tokens) and at - last < 3 and _adjoins(text, tokens, at):
        link = tokens[at][0]
        so_far = [token[0] for token in tokens[first : last + 1]]
        if not (link == "the" and at > last + 1) and not _may_link(so_far, link, tokens[at + 1][0]):
            return last
        following = tokens[at + 1][0]
        is_year = tokens[at][0] == "of" and len(following) == 4 and following.isdigit()
        if is_year or (_is_capital(following) and following.lower() not in FUNCTION_WORDS | MONTHS):
            return at + 1
        at += 1
    return last


def _may_link(so_far: list[str], link: str, following: str) -> bool:
    if link in NAME_LINKS:
        return True
    words = {word.lower() for word in so_far}
    if link == "of":
        return "of" not in words and _takes_of(so_far)
    if link == "the":
        return following in _AFTER_THE
    is_organisation = not words.isdisjoint(ORGANISATION_WORDS)
    if link == "and":
        return f"{so_far[-1]} and {following}" in PLACES or ("of" in words and is_organisation)
    if link == "at":
        return not words.isdisjoint(_JOINS_WITH_AT)
    return is_organisation and link in _MAY_FOLLOW_ORGANISATION


def _takes_of(so_far: list[str]) -> bool:
    """Tell whether `of` behind these words is part of the name, as in Bank of Canada, not Mayor of Boston."""
    head = so_far[-1].lower()
    if head in OFFICES or head in DEMONYMS:
        return False
    if len(so_far) == 1:
        return so_far[0] not in PLACES
    if head in OF_HEADS or head in EVENT_WORDS:
        return True
    return head in ORGANISATION_WORDS and head not in STRUCTURE_WORDS


def _names_of_run(text: str, run: list[_Token]) -> list[tuple[int, int, str]]:
    """Split a run at possessives and before offices; drop what is no name by itself."""
    found = []
    first = 0
    for i, token in enumerate(run):
        if i + 1 < len(run) and not _splits(token[0], run[i + 1 :]):
            continue
        words = _trimmed(run[first : i + 1])
        first = i + 1
        if words:
            name = tidy_name(text[words[0].start() : words[-1].end()])
            if _is_name(name):
                found.append((words[0].start(), words[-1].end(), name))
    return found


def _splits(word: str, rest: list[_Token]) -> bool:
    lower = word.lower().replace("’", "'")
    if lower.endswith("'s"):
        return lower not in _GROUPS and rest[0][0].lower() not in _KEEPS_POSSESSIVE
    is_office = rest[0][0].lower() in OFFICES and len(rest) > 2
    return is_office and rest[1][0][0].isupper()


def _trimmed(words: list[_Token]) -> list[_Token]:
    while words and words[0][0].lower() in {"the", "of", "and", "a", "an"}:
        words = words[1:]
    while words and words[-1][0].lower() in {"the", "of", "and", "for", "de"}:
        words = words[:-1]
    while len(words) > 2 and words[0][0].lower() in OFFICES and words[1][0][0].isupper():
        words = words[1:]
    if len(words) == 2 and words[0][0].rstrip(".") in {"Mr", "Mrs", "Ms", "Dr"}:
        words = words[1:]
    return words


def _is_name(name: str) -> bool:
    if len(name) < 2 or name.isdigit():
        return False
    if name in _CANONICAL_NAMES or name in PLACES:
        return True
    if " " in name:
        words = name.lower().split()
        return words[-1] not in DEMONYMS and not _RANKS.issuperset(words)
    lower = name.lower()
    return lower not in _NEVER_ALONE and lower.partition("-")[0] not in DEMONYMS
