"""Chinese names, titles of works and dates in a sentence, found with a dictionary and closed lists."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ytrag_core.documents.segmentation import chinese_tokens, word_count
from ytrag_core.extraction.chinese_words import (
    COUNTRIES,
    DOUBLE_SURNAMES,
    EVENT_ENDS,
    NATURE_ENDS,
    NO_GIVEN,
    NO_NAMES,
    ORGANISATION_ENDS,
    PLACE_ENDS,
    STRUCTURE_ENDS,
    SURNAMES,
    TRANSLITERATION,
)
from ytrag_core.extraction.mentions import Mention

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["find_chinese_mentions"]

_NUMERAL = "[\\d〇零一二三四五六七八九十百千万亿两]"
_DOTS = "·‧・•"
_SOUND = f"[{''.join(sorted(TRANSLITERATION))}]"
_CAPITALISED = r"[A-Z][A-Za-z0-9.&'’-]*"
_MARKED = re.compile(
    rf"""
      《(?P<work>[^《》\n]{{1,40}})》
    | (?P<person>{_SOUND}{{1,8}}(?:[{_DOTS}][\u4e00-\u9fff]{{1,8}}(?=[{_DOTS}]))*[{_DOTS}]{_SOUND}{{1,8}})
    | (?P<date>
        (?:公元前?|西元前?|约)?(?:\d{{2,4}}|[〇零一二三四五六七八九十]{{4}})年
            (?:{_NUMERAL}{{1,3}}月(?:{_NUMERAL}{{1,3}}[日号])?|代)?
        | {_NUMERAL}{{1,3}}月{_NUMERAL}{{1,3}}[日号]
        | {_NUMERAL}{{1,3}}世纪(?:{_NUMERAL}{{1,3}}年代)?)
    | (?P<quantity>(?:\d[\d,.]*|[一二三四五六七八九十百千]+)[万亿]?
        (?:平方公里|平方千米|公里|千米|米|公斤|千克|吨|元|美元|人口|[%％]|公顷|分钟|小时|集))
    | [「『“](?P<quoted>[^「」『』“”，。！？；：、\s]{{2,10}})[」』”]
    | (?P<latin>{_CAPITALISED}(?:[ ](?:(?:of|the|de|and|van|von|la)\b|{_CAPITALISED}|\d+))*|[a-z]+[A-Z]\w+)
    """,
    re.VERBOSE,
)
_SENTENCE_LIKE = re.compile("[我你他她的了吗呢吧啊是在不也就都]")
_ENDS = (
    (ORGANISATION_ENDS, "组织"),
    (EVENT_ENDS, "事件"),
    (PLACE_ENDS, "地点"),
    (NATURE_ENDS, "自然地物"),
    (STRUCTURE_ENDS, "建筑"),
)
_KINDS = {word: kind for words, kind in reversed(_ENDS) for word in words}
_JOINS_LEFT = frozenset(
    {"n", "ns", "nz", "nr", "nrt", "nt", "j", "b", "vn", "eng", "nrfg", "s", "f", "ng", "l", "an"}
)
_PROPER = frozenset({"ns", "nz", "nr", "nrt", "nt", "nrfg", "j"})
_BEFORE_PLACES = ("生于", "位于", "居于", "移居", "前往", "抵达", "迁往", "定居")
_LONGEST = 14
_LONGEST_FOREIGN = 8
_RARE = 8
_COMMON = 300

Token = tuple[int, str, str]


def find_chinese_mentions(text: str, start: int, end: int, known: Sequence[str]) -> list[Mention]:
    """Return what a sentence names, in order and without overlap.

    Parameters
    ----------
    text
        The chunk.
    start, end
        The sentence's offsets.
    known
        Names to find wherever they stand: the title, and short forms of persons met before.

    Returns
    -------
    list of Mention
        `kind` is `date`, `quantity`, or a type of the Chinese seed schema, empty where unknown.
    """
    mentions = _marked(text, start, end, known)
    free = start
    tokens: list[Token] = []
    for mention in (*mentions, Mention(end, end, "", "")):
        piece_start = free
        for word, flag in chinese_tokens(text[free : mention.start]):
            tokens.append((piece_start, word, flag))
            piece_start += len(word)
        tokens.append((mention.start, "", "x"))
        free = mention.end
    mentions.extend(_dictionary_names(text, tokens))
    mentions.sort(key=lambda mention: mention.start)
    return mentions


def _marked(text: str, start: int, end: int, known: Sequence[str]) -> list[Mention]:
    found: list[Mention] = []
    spans: list[tuple[int, int]] = []
    if known:
        longest_first = sorted(known, key=len, reverse=True)
        body = "|".join(map(re.escape, longest_first))
        for match in re.finditer(rf"(?<![{_DOTS}])(?:{body})(?![{_DOTS}])", text[start:end], re.IGNORECASE):
            spans.append((start + match.start(), start + match.end()))
            found.append(Mention(*spans[-1], match[0], ""))
    for match in _MARKED.finditer(text, start, end):
        group = match.lastgroup or ""
        name = match[group].strip(" .,'’-")
        if any(match.start() < last and first < match.end() for first, last in spans) or len(name) < 2:
            continue
        if group == "quoted" and _SENTENCE_LIKE.search(name):
            continue
        kinds = {"work": "作品", "person": "人物", "quoted": "", "latin": ""}
        found.append(Mention(*match.span(), name, kinds.get(group, group)))
    found.sort(key=lambda mention: mention.start)
    return found


def _dictionary_names(text: str, tokens: list[Token]) -> list[Mention]:
    found: list[Mention] = []
    i = 0
    while i < len(tokens):
        size, kind = _foreign_name(tokens, i)
        if not size:
            size, kind = _ended_name(tokens, i)
        if not size:
            size, kind = _known_name(text, tokens, i)
        if not size:
            size, kind = _person(text, tokens, i)
        if not size:
            i += 1
            continue
        if kind == "人物" and i and tokens[i - 1][1].endswith(_BEFORE_PLACES):
            kind = "地点"
        start, last = tokens[i][0], tokens[i + size - 1]
        stop = last[0] + len(last[1])
        found.append(Mention(start, stop, text[start:stop], kind))
        i += size
    return found


def _foreign_name(tokens: list[Token], i: int) -> tuple[int, str]:
    """Tell how many tokens from `i` on are a transliterated name that the dictionary does not know."""
    size = n_characters = n_unknown = 0
    for _, word, flag in tokens[i : i + _LONGEST_FOREIGN + 1]:
        is_sound = word and TRANSLITERATION.issuperset(word) and flag[0] not in "cpudrm"
        if not is_sound or word in COUNTRIES:
            break
        n_characters += len(word)
        n_unknown += len(word) == 1 or flag in {"nrt", "nr"}
        size += 1
    if (
        3 <= n_characters <= _LONGEST_FOREIGN
        and n_unknown * 2 >= size
        and n_unknown
        and (size > 1 or tokens[i][2] == "nrt")
    ):
        return size, "人物"
    return 0, ""


def _ended_name(tokens: list[Token], i: int) -> tuple[int, str]:
    """Tell how many tokens from `i` on are a name with a telling end, as 北京/大学 and 长江/大桥."""
    if tokens[i][2] not in _JOINS_LEFT - {"f", "vn"} or tokens[i][1] in NO_NAMES:
        return 0, ""
    best, length, is_proper = (0, ""), 0, False
    for size, (_, word, flag) in enumerate(tokens[i : i + 7], 1):
        length += len(word)
        kind = _KINDS.get(word)
        is_next_place = flag == "ns" and size > 1 and kind is None
        if length > _LONGEST or (flag not in _JOINS_LEFT and kind is None) or not word or is_next_place:
            break
        if kind is not None and size > 1 and (is_proper or (kind == "组织" and length >= 6 and size < 4)):
            best = (size, kind)
            following = tokens[i + size][1] if i + size < len(tokens) else ""
            if kind == "地点" and _KINDS.get(following) != "组织":
                break
        is_proper |= flag in _PROPER and word not in NO_NAMES
    return best


def _known_name(text: str, tokens: list[Token], i: int) -> tuple[int, str]:
    _, word, flag = tokens[i]
    if len(word) < 2 or word in NO_NAMES:
        return 0, ""
    if word in COUNTRIES or (flag == "ns" and word[0] not in "之以入"):
        return 1, "地点"
    if flag == "nt":
        return 1, "组织"
    if flag == "nz" and (word_count(word) < _COMMON or word.endswith("教")):
        return 1, _end_kind(word)
    is_person = flag in {"nr", "nrt", "nrfg"} and (word[0] in SURNAMES or word[:2] in DOUBLE_SURNAMES)
    if is_person and len(word) <= 4 and _is_whole(word):
        following = tokens[i + 1][1] if i + 1 < len(tokens) else ""
        is_longer = (
            len(word) == 2 and len(following) == 1 and following not in NO_GIVEN and "一" <= following <= "龥"
        )
        n_word = text.count(word) if is_longer else 0
        return (2 if n_word > 1 and text.count(word + following) == n_word else 1), "人物"
    if flag == "nrt" and len(word) > 2 and TRANSLITERATION.issuperset(word):
        return 1, "人物"
    return 0, ""


def _is_whole(word: str) -> bool:
    """Tell a person the dictionary knows from its noise: a shorter name with a character too many."""
    n_word = word_count(word)
    return len(word) < 3 or n_word > _RARE or word_count(word[:2]) <= n_word


def _end_kind(word: str) -> str:
    return next((kind for end, kind in _KINDS.items() if word.endswith(end) and len(word) > len(end) + 1), "")


def _person(text: str, tokens: list[Token], i: int) -> tuple[int, str]:
    """Tell whether a surname and one or two single characters behind it are a person's name."""
    start, word, _ = tokens[i]
    if word not in SURNAMES and word not in DOUBLE_SURNAMES:
        return 0, ""
    for n_given in (2, 1):
        given = [token[1] for token in tokens[i + 1 : i + 1 + n_given]]
        joined = "".join(given)
        if len(given) < n_given or not joined or not NO_GIVEN.isdisjoint(joined):
            continue
        is_word = len(joined) > n_given
        if is_word and (n_given > 1 or len(joined) > 2 or tokens[i + 1][2] in _PROPER - {"nr", "nrt"}):
            continue
        name = word + joined
        if name in NO_NAMES:
            continue
        if n_given == 2 and text.count(name) < text.count(name[:-1]):
            continue
        if any(not "\u4e00" <= character <= "\u9fff" for character in name):
            continue
        before, after = text[max(0, start - 1) : start], text[start + len(name) : start + len(name) + 1]
        if text.count(name) > 1 or before == "、" or after in {"、", "（", "("}:
            return n_given + 1, "人物"
    return 0, ""
