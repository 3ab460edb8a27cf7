"""A name taken apart: its words, and what it wears that does not tell whom it means."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ytrag_core.extraction.chinese_words import DOUBLE_SURNAMES, SURNAMES
from ytrag_core.extraction.words import GIVEN_NAMES, HONORIFICS, NAME_LINKS
from ytrag_core.graph.normalise import entity_key

__all__ = ["GENERATIONS", "NameForm", "name_form", "name_words", "plain_letters"]

GENERATIONS = frozenset({"jr", "sr", "junior", "senior", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"})
"""Words behind a person's name that tell members of one family apart."""

_LETTERS = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th"})
_INNER = re.compile(r"(?<=[^\W_])['.](?=[^\W_]|[\s,)]|$)")
_WORD = re.compile(r"[^\W_]+")
_HAN = re.compile(r"[\u3400-\u9fff]")
_WHOLE: dict[str, str] = {
    "intl": "international",
    "natl": "national",
    "univ": "university",
    "dept": "department",
    "govt": "government",
    "assn": "association",
    "bros": "brothers",
    "mt": "mount",
}
_ARTICLES = frozenset({"the"})
_HONORIFICS = HONORIFICS - {"general", "major", "director", "coach", "secretary", "brother", "sister"}
_COMPANIES = frozenset(
    {
        *("inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "llc", "plc"),
        *("gmbh", "ag"),
    }
)
_CHINESE_HONORIFICS = ("先生", "女士", "小姐", "教授", "博士", "院士", "老师", "夫人")
_CHINESE_COMPANIES = ("股份有限公司", "有限责任公司", "有限公司", "公司")
_CHINESE_AREAS = ("市", "省", "自治区", "特别行政区")
_PERSON_LENGTHS = range(2, 5)


@dataclass(frozen=True, slots=True)
class NameForm:
    """A name and its parts.

    Attributes
    ----------
    name
        As it is shown.
    words
        Its words, folded to lower case and plain letters; Chinese text is one word.
    tokens
        The same, but words with a hyphen are one.
    core
        The words that tell whom it means, joined: without an article, a title of a person, the legal form
        of a company, the word for a city or province behind a Chinese name, and the ending of a plural.
    dress
        What `core` leaves out, as pairs of a kind (`article`, `title`, `company`, `area`, `plural`) and the
        word.
    n_core
        How many words the core has; of Chinese text, how many characters.
    is_common
        Whether no letter of it is a capital, so that it is a common noun; False of Chinese text.
    is_chinese
        Whether it has Chinese characters.
    """

    name: str
    words: tuple[str, ...]
    tokens: tuple[str, ...]
    core: str
    dress: tuple[tuple[str, str], ...]
    n_core: int
    is_common: bool
    is_chinese: bool


def plain_letters(text: str) -> str:
    """Return a case-folded text without accents.

    Parameters
    ----------
    text
        Any text.
    """
    if text.isascii():
        return text
    parts = unicodedata.normalize("NFD", text)
    return "".join(part for part in parts if not unicodedata.combining(part)).translate(_LETTERS)


def name_words(key: str) -> tuple[str, ...]:
    """Return the words of a key: `U.S. Congress` is `us congress`, `Intl. Court` is `international court`.

    Parameters
    ----------
    key
        As `ytrag_core.graph.normalise.entity_key` gives it.
    """
    found: list[str] = _WORD.findall(_INNER.sub("", plain_letters(key)))
    words = [_WHOLE.get(word, word) for word in found]
    if len(words) > 1 and words[0] == "st":
        words[0] = "saint"
    return tuple(words)


def name_form(name: str, kind: str = "", key: str | None = None) -> NameForm:
    """Take a name apart.

    Parameters
    ----------
    name
        As it is shown.
    kind
        Its coarse kind where that is known: a person's titles are taken off a person only, or off what
        begins with a common given name or a Chinese surname.
    key
        Its key, where it is at hand.
    """
    key = entity_key(name) if key is None else key
    words = name_words(key)
    if _HAN.search(name):
        core, dress = _undress_chinese("".join(words), kind)
        whole = ("".join(words),)
        return NameForm(name, whole, whole, core, dress, len(core), is_common=False, is_chinese=True)
    is_common = name == name.lower()
    rest, dress = _undress(words, name, kind, is_common=is_common)
    tokens = tuple("".join(name_words(token)) for token in key.split())
    return NameForm(
        name,
        words,
        tuple(filter(None, tokens)),
        "".join(rest),
        dress,
        len(rest),
        is_common=is_common,
        is_chinese=False,
    )


def _undress(
    words: tuple[str, ...], name: str, kind: str, *, is_common: bool
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    dress = []
    if len(words) > 1 and words[0] in _ARTICLES:
        dress.append(("article", words[0]))
        words = words[1:]
    if len(words) > 2 and words[0] in _HONORIFICS and _is_person(name.split()[-len(words) + 1 :], kind):
        dress.append(("title", words[0]))
        words = words[1:]
    if len(words) > 1 and words[-1] in _COMPANIES and kind in {"", "body"}:
        dress.append(("company", words[-1]))
        words = words[:-1]
    if is_common and words and (single := _singular(words[-1])) != words[-1]:
        dress.append(("plural", words[-1]))
        words = (*words[:-1], single)
    return words, tuple(dress)


def _is_person(names: list[str], kind: str) -> bool:
    """Tell whether words behind a title are a person's name, not `Motors` behind `General`."""
    if any(word[0].islower() and word not in NAME_LINKS for word in names):
        return False
    return kind == "person" or (bool(names) and names[0] in GIVEN_NAMES)


def _singular(word: str) -> str:
    if len(word) < 5 or not word.endswith("s") or word.endswith(("ss", "us", "is", "ics", "ous", "ies")):
        return f"{word[:-3]}y" if len(word) > 5 and word.endswith("ies") else word
    return word[:-1]


def _undress_chinese(word: str, kind: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    for ends, label in (
        (_CHINESE_HONORIFICS, "title"),
        (_CHINESE_COMPANIES, "company"),
        (_CHINESE_AREAS, "area"),
    ):
        end = next((end for end in ends if word.endswith(end)), "")
        rest = word.removesuffix(end)
        if not end or len(rest) < 2 or (label == "title" and not _is_chinese_person(rest, kind)):
            continue
        if label == "area" and kind not in {"", "place", "body"}:
            continue
        return rest, ((label, end),)
    return word, ()


def _is_chinese_person(rest: str, kind: str) -> bool:
    if kind == "person":
        return True
    return len(rest) in _PERSON_LENGTHS and (rest[0] in SURNAMES or rest[:2] in DOUBLE_SURNAMES)
