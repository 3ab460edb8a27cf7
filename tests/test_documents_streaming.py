"""A file that is read piece by piece is the document that it is when read as a whole."""

from __future__ import annotations

import codecs
import re
import tracemalloc
import zipfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.made_files import nested
from tests.test_documents_chunking import WORDS
from ytrag_core.documents import archive, chunking, line_windows, source, tabular
from ytrag_core.documents.archive import ArchiveLimits
from ytrag_core.documents.chunking import chunk_document
from ytrag_core.documents.decoding import decode, decoded_pieces, settled_encoding
from ytrag_core.documents.headings import markdown_headings, text_headings
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.text import clean_pieces, clean_text
from ytrag_core.errors import DocumentError
from ytrag_core.pipeline.records import document_entry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

ENGLISH = "".join(f"It was number {n} of a great many doors. It stayed shut, as ever! " for n in range(40))
CHINESE = "".join(f"第{n}扇门在城北的河上，门下的水很急；没有人开过它。" for n in range(40))
CHAPTERS = "\r\n".join(f"Chapter {n}\r\n\r\n{ENGLISH[n : n + 400]}\r\n\r\n" for n in range(12))
TALES = "\n".join(f"　第{n}回 夜读旧书\n{CHINESE[n * 3 : n * 3 + 200]}\n" for n in range(12))
MARKDOWN = (
    "---\ntitle: 'Doors'\n---\n\n"
    + "\n".join(f"# Hall {n}\n\n```sh\n# no heading\n```\n\nDoor\n---\n\n{ENGLISH[:300]}\n" for n in range(9))
    + "\n~~~~\n# still code\n~~~\n## and still\n"
)
TEXTS = {
    "plain": ENGLISH,
    "one line without an end": "x" * 3000,
    "Windows line ends and chapters": CHAPTERS,
    "old line ends": CHAPTERS.replace("\r\n", "\r"),
    "Chinese tales": TALES,
    "emoji and joiners": "👩\u200d👩\u200d👧 family. " * 200 + "e\u0301té 🚪\n" * 50,
    "NULs and spaces": "\n \t\n" + ENGLISH.replace("door", "do\0or") + "\r\0\n \n\r",
    "Markdown": MARKDOWN,
    "Markdown of lists and rules": "- a\n---\n- b\n===\n" * 300,
}


@contextmanager
def streaming(piece: int = 1000) -> Iterator[None]:
    """Take every file for a long one, read in small pieces."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (source, archive):
            patch.setattr(module, "LONG_BYTES", 0)
        patch.setattr(source, "_PIECE", piece)
        patch.setattr(tabular, "_PIECE", 100)
        yield


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunking, "_BLOCK", 700)


def read(path: Path) -> list[Document | LongDocument | Problem]:
    return list(read_documents([path]))


def assert_same(long: object, whole: object) -> None:
    assert isinstance(whole, Document)
    assert isinstance(long, LongDocument)
    text = "".join(long.pieces())
    assert text == whole.text == "".join(long.pieces())
    assert (long.n_characters, long.n_bytes) == (len(text), len(text.encode()))
    for name in ("id", "title", "source", "metadata", "has_record_id", "headings", "pages"):
        assert getattr(long, name) == getattr(whole, name), name
    cut = chunk_document(whole, WORDS, max_tokens=24, overlap=12)
    assert chunk_document(long, WORDS, max_tokens=24, overlap=12) == cut
    assert len(cut) > 1
    assert document_entry(long, "way").sha256 == document_entry(whole, "way").sha256


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name: str, tmp_path: Path) -> None:
    text = TEXTS[name]
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "gb18030", "big5", "cp1252"):
        path = tmp_path / f"{encoding}.{'md' if 'Markdown' in name else 'txt'}"
        try:
            path.write_bytes(text.encode(encoding))
        except UnicodeEncodeError:
            continue
        (whole,) = read(path)
        for piece in (1, 1000) if encoding == "utf-8" else (7,):
            with streaming(piece):
                (long,) = read(path)
                if isinstance(whole, Problem):
                    assert long == whole
                else:
                    assert_same(long, whole)


TABLES = {
    "a.csv": "name,note\n" + "".join(f'n{n},"{ENGLISH[:90]}\r\nmore ""{n}"""\n\n' for n in range(30)),
    "b.tsv": "名\t注\r\n" + "".join(f"门{n}\t{CHINESE[:60]}\r\n" for n in range(30)),
    "c.csv": "\n\nid;text;year\r" + "".join(f"r{n};{ENGLISH[:50]};{n}\r" for n in range(9)) + ";;\r7;x;1;2\r",
    "d.csv": "\ufeffa,b\n" + f"{ENGLISH[:60]},\n" * 9,
    "e.jsonl": "".join(f'{{"id": "r{n}", "text": "{CHINESE[n : n + 9]}"}}\n' for n in range(9)) + "{no}\n",
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_tables_and_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(TABLES[name], encoding="utf-8", newline="")
    wholes = read(path)
    with streaming():
        longs = read(path)
        if len(wholes) > 1:
            assert longs == wholes
        else:
            assert_same(longs[0], wholes[0])


def test_members_of_archives(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    inner = tmp_path / "inner.zip"
    for file, more in ((inner, []), (path, [inner])):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
            packed.writestr("tales.txt", TALES.encode("gb18030"))
            packed.writestr("doors.md", MARKDOWN)
            for name, table in TABLES.items():
                packed.writestr(name, table)
            for each in more:
                packed.write(each, "inner.zip")
    inner.unlink()
    wholes = read(path)
    with streaming():
        longs = read(path)
    assert len(longs) == len(wholes) == 50
    for long, whole in zip(longs, wholes, strict=True):  # the archive was left by now
        if isinstance(long, LongDocument):
            assert_same(long, whole)
        else:
            assert long == whole
    assert sum(isinstance(long, LongDocument) for long in longs) == 10


def test_a_member_beyond_the_bounds_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("bomb.txt", b"a" * 10_000_000)
        packed.writestr("note.txt", "a note")
        packed.writestr("broken.txt", ENGLISH)
    data = path.read_bytes()
    path.write_bytes(data.replace(data[data.index(b"broken.txt") + 10 :][:40], b"\xff" * 40, 1))
    with streaming():
        bomb, note, broken = read_documents([path], limits=ArchiveLimits(free=1 << 20))
    assert isinstance(bomb, Problem)
    assert "unpack to more than" in bomb.reason
    assert isinstance(note, LongDocument)
    assert isinstance(broken, Problem)
    assert "cannot be unpacked" in broken.reason
    path.write_bytes(nested(1))
    with pytest.raises(DocumentError, match="cannot be read: the archive changed"):
        list(note.pieces())


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
@pytest.mark.parametrize("change", ["longer", "other", "gone", "no text"])
def test_a_file_that_changes_meanwhile_is_told(text: str, change: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(text, encoding="utf-8")
    with streaming():
        (long,) = read(path)
    assert isinstance(long, LongDocument)
    if change == "gone":
        path.unlink()
    elif change == "no text":
        path.write_bytes(b"\xff" * len(text))
    else:
        path.write_text(text + "!" if change == "longer" else text[::-1], encoding="utf-8")
    with pytest.raises(DocumentError, match="cannot be read" if change == "gone" else "changed while it was"):
        list(long.pieces())


LATE = "plain words\n" * 40_000
ENCODED = {
    "utf-8": (LATE + CHINESE).encode(),
    "GB18030 late": (LATE + CHINESE).encode("gb18030"),
    "Big5 late": LATE.encode() + "劉備、關羽、張飛三人在桃園結為兄弟，發誓同心協力。".encode("big5"),
    "Western late": (LATE + "Zoë naïve Málaga\n").encode("cp1252"),
    "half a character": (LATE + "é").encode()[:-1],
    "GB18030, then not": (CHINESE * 300).encode("gb18030") + b"\xff\xff",
    "UTF-16, cut": codecs.BOM_UTF16_LE + (LATE + "é").encode("utf-16-le")[:-1],
    "UTF-16 at first": (LATE + CHINESE).encode("utf-16-le") + b"\x00\xd8",
    "marked, then not": codecs.BOM_UTF8 + LATE.encode() + b"\xff",
    "binary": b"\x00\x01\x02" * 200_000,
    "binary late": LATE.encode() + b"\xff\x00\xfe",
    "empty": b"",
}


@pytest.mark.parametrize("name", ENCODED)
@pytest.mark.parametrize("size", [999, 70_001])
def test_encodings_are_settled_as_for_a_whole_file(name: str, size: int) -> None:
    data = ENCODED[name]
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    try:
        text = decode(data)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            settled_encoding(lambda: pieces)
    else:
        assert "".join(decoded_pieces(pieces, settled_encoding(lambda: pieces))) == text


def in_pieces(text: str, cuts: Sequence[int]) -> list[str]:
    borders = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[start:end] for start, end in zip(borders, [*borders[1:], None], strict=True)]


cuts = st.lists(st.integers(0, 10_000), max_size=12)


@given(st.text(alphabet="a \r\n\0\ufeff界🚪"), cuts)
def test_clean_pieces(text: str, places: list[int]) -> None:
    assert "".join(clean_pieces(in_pieces(text, places))) == clean_text(text)


LINES = st.lists(
    st.sampled_from(
        ["", "word", "# One", "## Two ##", "Under", "---", "  ===", "-- ", "```", "````x", "~~~", "    ```",
         "- item", "第三回 门", " Chapter 7", "Chapter 7 of many words", "***", "   # Three", "\t第二章"]
    )
)  # fmt: skip


@given(LINES, cuts)
def test_headings_of_pieces(lines: list[str], places: list[int]) -> None:
    text = "\n".join(lines)
    for find in (markdown_headings, text_headings):
        assert find(in_pieces(text, places)) == find([text])


@given(LINES)
def test_fenced_code_by_its_definition(lines: list[str]) -> None:
    text = "\n".join(lines)
    fence = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
    code = [match.span() for match in fence.finditer(text)]
    for heading in markdown_headings([text]):
        assert not any(start <= heading.start < end for start, end in code)
    if not code:
        bare = re.sub(r"[`~]", "w", text)
        assert [heading.start for heading in markdown_headings([text])] == [
            heading.start for heading in markdown_headings([bare])
        ]


def test_windows_are_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_windows, "_LONGEST_LINE", 50)
    text = "one\ntwo\n\n" + "x" * 200 + "\nthree\n---\n---\nfour"
    for size in range(1, 60):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        found = list(line_windows.line_windows(pieces, re.compile("---$", re.MULTILINE)))
        assert "".join(window for _, window in found) == text
        assert [offset for offset, _ in found] == [
            sum(len(window) for _, window in found[:row]) for row in range(len(found))
        ]
        assert not any(window.startswith("---") for _, window in found)


def test_a_blank_long_file_is_empty(tmp_path: Path) -> None:
    for name, text in (("a.txt", "\t \r\n"), ("a.md", "\n" * 99), ("a.csv", "\n\n"), ("b.txt", "")):
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
        with streaming():
            (problem,) = read(tmp_path / name)
        assert isinstance(problem, Problem)
        assert problem.reason == "the file is empty"


def test_a_kind_that_is_held_has_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_BYTES", 3 << 20)
    for name in ("a.html", "a.json"):
        (tmp_path / name).write_bytes(b" " * (4 << 20))
        (problem,) = read(tmp_path / name)
        assert isinstance(problem, Problem)
        assert "it has 4 MiB; a file of its kind is held in memory as a whole, up to 3 MiB" in problem.reason


@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.md"])
def test_memory_does_not_grow_with_the_file(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((b"A line of a large file and its end. " * 100 + b"\r\n") * 3500)
    tracemalloc.start()
    (long,) = read(path)
    assert isinstance(long, LongDocument)
    assert sum(map(len, long.pieces())) == long.n_characters > 12_000_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 << 20
