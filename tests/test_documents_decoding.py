"""Encodings: told from a few characters, and from whole files."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from ytrag_core.documents.decoding import chinese_encoding, decode

if TYPE_CHECKING:
    from pathlib import Path

SIMPLIFIED = "刘备、关羽、张飞三人在桃园结为兄弟，发誓同心协力。"
TRADITIONAL = "劉備、關羽、張飛三人在桃園結為兄弟，發誓同心協力。"
WESTERN = "Élodie déjeune à l’hôtel près de la forêt – « où êtes-vous ? » – et paie 5 €."


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("text", [SIMPLIFIED + "\n", TRADITIONAL + "\n", WESTERN, "plain\n"])
def test_unicode_with_and_without_a_mark(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (SIMPLIFIED, "gb18030"),
        (SIMPLIFIED[:4], "gb18030"),
        ("劳动合同", "gb18030"),
        ("﨑 and 㐀 are rare; 这些是常用字，很多人都认识。", "gb18030"),
        (TRADITIONAL, "big5"),
        (TRADITIONAL[:4], "big5"),
        ("這個", "big5"),
        (WESTERN, "cp1252"),
        ("Zoë naïve Málaga, a few accents in an English sentence", "latin-1"),
    ],
)  # fmt: skip
def test_legacy_encodings(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("data", "declared", "text"),
    [
        ("Привет, мир".encode("cp1251"), "windows-1251", "Привет, мир"),
        ("日本語の文章".encode("shift_jis"), "Shift_JIS", "日本語の文章"),
        ("中文镕".encode("gb18030"), "gb2312", "中文镕"),
        ("中文".encode(), "gb2312", "中文"),
        ("café".encode("latin-1"), "hex", "café"),
        ("café".encode("latin-1"), "no such thing", "café"),
    ],
)
def test_what_a_file_declares(data: bytes, declared: str, text: str) -> None:
    assert decode(data, declared) == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\x00\x01\x02" * 50, "NUL"),
        (bytes(range(1, 256)) * 8, "save the file as UTF-8"),
        ("Привет, мир! Это русский текст.".encode("cp1251"), "save the file as UTF-8"),
        (b"\xff\xfea\0b", "marked as utf-16 but not valid"),
        (b"\xef\xbb\xbf\xff", "marked as utf-8-sig but not valid"),
    ],
)
def test_what_is_no_text_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        decode(data)


def test_an_encoding_that_shows_late_is_found() -> None:
    text = "plain words\n" * 40_000 + SIMPLIFIED
    assert decode(text.encode("gb18030")) == text


def test_western_text_is_not_taken_for_chinese() -> None:
    assert chinese_encoding(WESTERN.encode("cp1252")) is None


def test_chinese_files_in_other_encodings(shared_data: Path) -> None:
    for path in sorted((shared_data / "docs/zh").glob("*.[tm]*")):
        text = path.read_text(encoding="utf-8").removeprefix("\ufeff")
        for encoding in ("gb18030", "utf-16", "utf-16-le", "utf-8-sig"):
            assert decode(text.encode(encoding)) == text, (path.name, encoding)


def test_snippets_of_eight_characters(shared_data: Path) -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted((shared_data / "docs/zh").glob("*.txt"))]
    draw = random.Random(7)
    snippets = []
    for _ in range(400):
        text = draw.choice(texts)
        start = draw.randrange(len(text) - 8)
        snippets.append(text[start : start + 8])
    n_right = 0
    for snippet in snippets:
        try:
            n_right += decode(snippet.encode("gb18030")) == snippet
        except ValueError:
            continue
    assert n_right >= 0.97 * len(snippets)
