"""Bytes to text: by the mark, else UTF-8, else what is plausible of UTF-16, GB18030, Big5, Windows-1252."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "SAMPLE_BYTES",
    "chinese_encoding",
    "decode",
    "decoded_pieces",
    "settled_encoding",
    "text_encoding",
]

SAMPLE_BYTES = 1 << 18
"""So much of a file is enough to tell its encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 200_000
_COMMON_SHARE = 0.85
_ACCENTED_SHARE = 0.25
_FREQUENT = frozenset(
    "的一是了我不人在他有这个上们来到时大地为子中你说生国年着就那和要她出也得里后自以会家可下而过天去能对小多"
    "然于心学么之都好看起发当没成只如事把还用第样道想作种开美总从无情己面最女但现前些所同日手又行意动方期它头经"
    "长儿回位分爱老因很给名法间斯知世什两次使身者被高已亲其进此话常与活正感见明问力理尔点文几定本公特做外孩相西"
    "果走将月十实向声车全信重三机工物气每并别真打太新比才便夫再书部水像眼等体却加电主界门利海受听表德少克代员许"
    "先口由死安写性马光白或住难望教命花结乐色更拉东神记处让母父应直字场平报友关放至张认接告入笑内英军候民岁往何"
    "度山觉路带万男边风解叫任金快原吃妈变通师立象数四失满战远格士音轻目条呢病始达深完今提求清王化空业思切怎非找"
    "曰臣君侯将军秦楚汉赵齐魏燕吾汝矣焉哉乃遂乎兮诸皆故使于市县省法律条款第章节规定劳动合同单位工资社会经济增长"
    "這個們來時為說國後會過對學麼發當沒還樣種開從無現經長兒愛給間兩親進話與見問點幾實車機氣別電書體卻門聽員許寫馬"
    "難樂東記處讓應場報關張認軍歲覺帶萬邊風變師數滿戰遠輕條達業諸漢趙齊縣規勞動單資會濟總裡將頭題節務產區選據層級"
    "疑霜舉低故鄉床月"
)
_FOREIGN = re.compile(r"[^\x00-\x7f]")
_USUAL_MARKS = frozenset("‘’“”–—…£€°§©®«»·¿¡ºª½¼¾²³×")


def decode(data: bytes, declared: str | None = None) -> str:
    """Return the text of a file.

    Parameters
    ----------
    data
        The whole file.
    declared
        The encoding that the file names itself, as HTML does; believed unless a mark or UTF-8 contradicts it.

    Returns
    -------
    str
        The text, byte-order mark left out.

    Raises
    ------
    ValueError
        If the file is empty, binary or of no known encoding; the message is the reason.
    """
    if not data:
        raise ValueError("the file is empty")
    encoding = text_encoding(data[:SAMPLE_BYTES], is_whole=len(data) <= SAMPLE_BYTES, declared=declared)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = len(data) - len(error.object) + error.start  # a mark may have been left out
        return data.decode(_second_encoding(lambda: [data], encoding, where))


def settled_encoding(pieces: Callable[[], Iterable[bytes]]) -> str:
    """Return the encoding in which a whole file is valid: the one that `decode` finds.

    Parameters
    ----------
    pieces
        Yields the file's bytes piece by piece, each time from the beginning.

    Raises
    ------
    ValueError
        If the file is empty, binary or of no known encoding; the message is the reason.
    """
    sample, is_whole = _beginning(pieces(), SAMPLE_BYTES)
    if not sample:
        raise ValueError("the file is empty")
    encoding = text_encoding(sample, is_whole=is_whole)
    where = _first_invalid(pieces(), encoding, is_whole=True)
    return encoding if where is None else _second_encoding(pieces, encoding, where)


def decoded_pieces(pieces: Iterable[bytes], encoding: str) -> Iterator[str]:
    """Yield the text of a file piece by piece; characters may lie across the borders of the bytes.

    Raises
    ------
    UnicodeDecodeError
        If it is not valid in this encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _beginning(pieces: Iterable[bytes], size: int) -> tuple[bytes, bool]:
    """Return the first bytes and whether they are all."""
    sample = bytearray()
    for piece in pieces:
        sample += piece[: size + 1 - len(sample)]
        if len(sample) > size:
            return bytes(sample[:size]), False
    return bytes(sample), True


def _second_encoding(pieces: Callable[[], Iterable[bytes]], first: str, where: int) -> str:
    """Return the encoding of a file that is not valid in the first one, from the offset `where` on."""
    beginning = _beginning(pieces(), 4)[0]
    if any(beginning.startswith(mark) for mark, _ in _MARKS):
        raise ValueError(f"marked as {first} but not valid at byte {where + 1}")
    if first.startswith("utf-16"):
        raise ValueError("the file is binary (it holds NUL bytes); a text was wanted")
    second = _legacy_encoding(pieces) if first == "utf-8" else None
    if second is None:
        raise ValueError(
            f"neither {first.upper()} (byte {where + 1} is not) nor another encoding; save it as UTF-8"
        )
    return second


def text_encoding(sample: bytes, *, is_whole: bool, declared: str | None = None) -> str:
    """Return the encoding of a text by its first bytes.

    Parameters
    ----------
    sample
        The first `SAMPLE_BYTES` of the file.
    is_whole
        True where that is all of it; else its last character may be cut.
    declared
        The encoding that the file names itself.

    Raises
    ------
    ValueError
        If it is binary or of no known encoding.

    Notes
    -----
    GB18030 and Big5 take most bytes of each other for characters, only for rare ones: that text is chosen
    which has more of the several hundred most frequent Chinese characters, simplified and traditional.
    """
    for mark, encoding in _MARKS:
        if sample.startswith(mark):
            return encoding
    if b"\0" in sample:
        wide = None if is_whole and len(sample) % 2 else _unmarked_utf16(sample)
        if wide is None:
            raise ValueError("the file is binary (it holds NUL bytes); a text was wanted")
        return wide
    where = _first_invalid([sample], "utf-8", is_whole=is_whole)
    if where is None:
        return "utf-8"
    named = None if declared is None else _known(declared)
    if named is not None and _first_invalid([sample], named, is_whole=is_whole) is None:
        return named
    legacy = _legacy_encoding(lambda: [sample], is_whole=is_whole)
    if legacy is None:
        raise ValueError(
            f"neither UTF-8 (byte {where + 1} is not) nor UTF-16, GB18030, Big5 or Windows-1252; "
            "save the file as UTF-8"
        )
    return legacy


def chinese_encoding(sample: bytes, *, is_whole: bool = True) -> str | None:
    """Return "gb18030" or "big5hkscs" where the bytes are likely Chinese text in one of them, else None.

    Parameters
    ----------
    sample
        Text of some kind that is not UTF-8; a few characters suffice.
    is_whole
        False where the last character may be cut.
    """
    return _chinese(lambda: [sample], is_whole=is_whole)


def _chinese(pieces: Callable[[], Iterable[bytes]], *, is_whole: bool) -> str | None:
    scores = {name: _chinese_score(pieces(), name, is_whole=is_whole) for name in ("gb18030", "big5hkscs")}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0 else None


def _legacy_encoding(pieces: Callable[[], Iterable[bytes]], *, is_whole: bool = True) -> str | None:
    chinese = _chinese(pieces, is_whole=is_whole)
    if chinese is not None:
        return chinese
    western = "cp1252" if _first_invalid(pieces(), "cp1252", is_whole=True) is None else "latin-1"
    return western if _looks_western(_beginning(pieces(), _SAMPLE)[0].decode(western)) else None


def _first_invalid(pieces: Iterable[bytes], encoding: str, *, is_whole: bool) -> int | None:
    """Return the offset of the first byte that is not valid, None where all are."""
    decoder = codecs.getincrementaldecoder(encoding)()
    n_bytes = 0
    try:
        for piece in pieces:
            n_bytes += len(piece)
            decoder.decode(piece)
        decoder.decode(b"", final=is_whole)
    except UnicodeDecodeError as error:
        # What the error counts in begins with what was left of the pieces before.
        return n_bytes - len(error.object) + error.start
    return None


def _known(encoding: str) -> str | None:
    try:
        name = codecs.lookup(encoding.strip()).name
    except (LookupError, ValueError):
        return None
    # What calls itself GB2312 or GBK may hold characters beyond it, and what calls itself Latin-1 quotes.
    wider = {"gb2312": "gb18030", "gbk": "gb18030", "big5": "big5hkscs", "iso8859-1": "cp1252"}
    try:
        "".encode(wider.get(name, name)).decode(wider.get(name, name))
    except (LookupError, UnicodeError):  # a codec of bytes to bytes, such as hex
        return None
    return wider.get(name, name)


def _unmarked_utf16(sample: bytes) -> str | None:
    """Return which UTF-16 a text without a mark is in: every second byte of its ASCII is NUL."""
    even = sample[: len(sample) // 2 * 2]
    for encoding, high in (("utf-16-le", even[1::2]), ("utf-16-be", even[0::2])):
        if b"\0" not in high or _first_invalid([even], encoding, is_whole=False) is not None:
            continue
        text = codecs.getincrementaldecoder(encoding)().decode(even)
        foreign = _FOREIGN.findall(text)
        n_usual = sum(
            "\u3000" <= character <= "\u9fff"
            or "\uff00" <= character <= "\uffef"
            or character in _USUAL_MARKS
            for character in foreign
        )
        is_text = not any(character < " " and character not in "\t\n\r\f" for character in text)
        if is_text and (n_usual >= _COMMON_SHARE * len(foreign) or _looks_western(text)):
            return encoding
    return None


def _chinese_score(pieces: Iterable[bytes], encoding: str, *, is_whole: bool) -> float:
    """Return how likely the bytes are Chinese in an encoding, 0 where they are not.

    Raises nothing: bytes that are not valid score 0.
    """
    foreign = _foreign(pieces, encoding, is_whole=is_whole)
    if not foreign:
        return 0.0
    level = "gb2312" if encoding == "gb18030" else "big5"
    n_common = len(foreign.encode(level, "ignore")) // 2
    if n_common < _COMMON_SHARE * len(foreign):
        return 0.0
    n_first = sum(_is_first_level(pair, encoding) for pair in _pairs(foreign.encode(level, "ignore")))
    n_frequent = sum(character in _FREQUENT for character in foreign)
    return (n_frequent + 0.5 * n_first) / len(foreign)


def _foreign(pieces: Iterable[bytes], encoding: str, *, is_whole: bool) -> str:
    """Return the first characters beyond ASCII; none where any byte is not valid."""
    decoder = codecs.getincrementaldecoder(encoding)()
    foreign = ""
    try:
        for piece in pieces:
            text = decoder.decode(piece)
            if len(foreign) < _SAMPLE:
                foreign += "".join(_FOREIGN.findall(text))
        decoder.decode(b"", final=is_whole)
    except UnicodeDecodeError:
        return ""
    return foreign[:_SAMPLE]


def _pairs(data: bytes) -> list[int]:
    return [first << 8 | second for first, second in zip(data[::2], data[1::2], strict=False)]


def _is_first_level(pair: int, encoding: str) -> bool:
    """Tell whether a character is punctuation or one of the commoner half of its character set."""
    if encoding == "gb18030":
        return 0xA1A1 <= pair <= 0xA3FE or 0xB0A1 <= pair <= 0xD7F9
    return 0xA140 <= pair <= 0xC67E


def _looks_western(text: str) -> bool:
    """Tell whether there are few characters beyond ASCII and most of these are accented letters or quotes."""
    sample = text[:_SAMPLE]
    foreign = _FOREIGN.findall(sample)
    n_usual = sum(character.isalpha() or character in _USUAL_MARKS for character in foreign)
    has_controls = any(character < " " and character not in "\t\n\r\f" for character in sample)
    return (
        not has_controls
        and len(foreign) <= _ACCENTED_SHARE * len(sample)
        and n_usual >= _COMMON_SHARE * len(foreign)
    )
