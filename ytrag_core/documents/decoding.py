"""Bytes to text: UTF-8, UTF-16 and UTF-32 with a mark, GB18030 and Windows-1252 where they are plausible."""

from __future__ import annotations

import codecs

__all__ = ["decode"]

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 200_000
_COMMON_SHARE = 0.85
_ACCENTED_SHARE = 0.1


def decode(data: bytes) -> str:
    """Return the text of a file.

    Parameters
    ----------
    data
        The whole file.

    Returns
    -------
    str
        Decoded by the byte-order mark if there is one, else as UTF-8, else as GB18030 where the outcome
        looks like Chinese, else as Windows-1252 where nearly everything is ASCII.

    Raises
    ------
    ValueError
        If the file is empty, binary or of no known encoding; the message is the reason.
    """
    if not data:
        raise ValueError("the file is empty")
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            try:
                return data.decode(encoding)
            except UnicodeDecodeError as error:
                raise ValueError(f"marked as {encoding} but not valid at byte {error.start + 1}") from error
    if b"\0" in data:
        raise ValueError("the file is binary (it holds NUL bytes); a text was wanted")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        where = error.start + 1
    for encoding, is_plausible in (("gb18030", _looks_chinese), ("cp1252", _looks_western)):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if is_plausible(text):
            return text
    raise ValueError(f"neither UTF-8 (byte {where} is not) nor GB18030; save the file as UTF-8")


def _looks_chinese(text: str) -> bool:
    """Tell whether most of the characters beyond ASCII are common ones; chance pairs of bytes are not."""
    foreign = "".join(character for character in text[:_SAMPLE] if character > "\x7f")
    if not foreign and len(text) > _SAMPLE:
        foreign = "".join(character for character in text if character > "\x7f")[:_SAMPLE]
    n_common = len(foreign.encode("gb2312", "ignore")) // 2
    return bool(foreign) and n_common >= _COMMON_SHARE * len(foreign)


def _looks_western(text: str) -> bool:
    """Tell whether there are few characters beyond ASCII and most of these are accented letters or quotes."""
    sample = text[:_SAMPLE]
    foreign = [character for character in sample if character > "\x7f"]
    n_usual = sum(character.isalpha() or character in "‘’“”–—…£€°§©®«»" for character in foreign)
    return len(foreign) <= _ACCENTED_SHARE * len(sample) and n_usual >= _COMMON_SHARE * len(foreign)
