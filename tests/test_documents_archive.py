"""Zip archives: read in memory, bounded, and never a way out of themselves."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING

import pytest

from tests.made_files import nested, zipped
from ytrag_core.documents.archive import ArchiveLimits
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from pathlib import Path


def read(
    path: Path, data: bytes, limits: ArchiveLimits | None = None
) -> tuple[dict[str, Document], dict[str, str]]:
    """Return documents by their path inside the archive, and reasons by the same."""
    file = path / "a.zip"
    file.write_bytes(data)
    start = len(file.as_posix()) + 1
    found = list(read_documents([file], limits=limits))
    documents = {item.id[start:]: item for item in found if isinstance(item, Document)}
    return documents, {item.source[start:]: item.reason for item in found if isinstance(item, Problem)}


def test_members_are_documents(tmp_path: Path) -> None:
    data = zipped(
        {
            "b/note.txt": "note", "a.md": "# Title\n\ntext", "r.jsonl": '{"id": "r1", "text": "x"}\n',
            "x.png": b"\x89PNG", ".hidden/a.txt": "no", "__MACOSX/b.txt": "no",
            "inner.zip": zipped({"c.txt": "c"}),
        }
    )  # fmt: skip
    (tmp_path / "a.zip").write_bytes(data)
    found = [item for item in read_documents([tmp_path]) if isinstance(item, Document)]
    assert {item.text for item in found} == {"note", "# Title\n\ntext", "x", "c"}
    documents, reasons = read(tmp_path, data)
    assert {"b/note.txt", "a.md", "inner.zip/c.txt"} < set(documents)
    assert documents["a.md"].title == "Title"
    assert set(reasons) == {"x.png"}


def test_paths_are_labels_only(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    before = sorted(tmp_path.iterdir())
    names = ["../../up.txt", "/root.txt", "..\\win.txt", "a/./b/../c.txt"]
    documents, _ = read(inside, zipped({name: f"text of {name}" for name in names}))
    assert set(documents) == {"up.txt", "root.txt", "win.txt", "a/b/c.txt"}
    assert sorted(tmp_path.iterdir()) == before
    assert list(inside.iterdir()) == [inside / "a.zip"]


def test_two_files_of_one_name(tmp_path: Path) -> None:
    documents, reasons = read(tmp_path, zipped({"a.txt": "first", "../a.txt": "second"}))
    assert documents["a.txt"].text == "first"
    assert "two files of this name" in reasons["a.txt"]


def test_names_in_gbk(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("xxxxxxxx.txt", "text")
    data = buffer.getvalue().replace(b"xxxxxxxx.txt", "劳动合同".encode("gbk") + b".txt")
    assert set(read(tmp_path, data)[0]) == {"劳动合同.txt"}


def test_ten_archives_in_each_other(tmp_path: Path) -> None:
    documents, reasons = read(tmp_path, nested(10))
    assert documents == {}
    ((where, reason),) = reasons.items()
    assert where.count(".zip") == 3
    assert "more than 3 deep" in reason
    assert read(tmp_path, nested(3))[0]["level1.zip/level0.zip/note.txt"].text == "deep"


def test_a_member_that_unpacks_to_far_more(tmp_path: Path) -> None:
    data = zipped({"bomb.txt": b"\0" * (40 << 20), "good.txt": "good"})
    assert len(data) < 1 << 20
    documents, reasons = read(tmp_path, data)
    assert set(documents) == {"good.txt"}
    assert "unpack to more than" in reasons["bomb.txt"]


def test_bounds_of_the_whole_archive(tmp_path: Path) -> None:
    members = {f"{number:02}.txt": "text " * 1000 for number in range(20)}
    documents, reasons = read(tmp_path, zipped(members), ArchiveLimits(members=5))
    assert len(documents) == 5
    assert "more than 5 files" in reasons[""]
    inner = zipped(members)
    documents, reasons = read(
        tmp_path, zipped({"a.zip": inner, "b.zip": inner}), ArchiveLimits(total=120_000)
    )
    assert 10 < len(documents) < 30
    assert "unpacks to more than" in reasons[""]


def test_encrypted_damaged_linked_and_empty(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("locked.txt", "secret")
        archive.writestr("damaged.txt", "damaged text")
        link = zipfile.ZipInfo("link.txt")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
        archive.writestr("good.txt", "good")
        archive.writestr("empty.txt", "")
    data = bytearray(buffer.getvalue().replace(b"damaged text", b"DAMAGED text"))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + offset] |= 1
    documents, reasons = read(tmp_path, bytes(data))
    assert set(documents) == {"good.txt"}
    assert "encrypted" in reasons["locked.txt"]
    assert "cannot be unpacked" in reasons["damaged.txt"]
    assert "symbolic link" in reasons["link.txt"]
    assert "empty" in reasons["empty.txt"]


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04 no archive", zipped({})])
def test_what_is_no_archive_says_so(tmp_path: Path, data: bytes) -> None:
    documents, reasons = read(tmp_path, data)
    assert documents == {}
    assert "zip archive" in reasons[""] or "empty" in reasons[""]


def test_patterns(tmp_path: Path) -> None:
    for name in ["a.txt", "b.md", "c/d.txt", "c/.e.txt", "c/f/g.txt", "[x].txt"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")

    def names(pattern: str) -> list[str]:
        found = read_documents([tmp_path / pattern])
        return [item.text for item in found if isinstance(item, Document)]

    assert names("*.txt") == ["[x].txt", "a.txt"]
    assert names("**/*.txt") == ["[x].txt", "a.txt", "c/d.txt", "c/f/g.txt"]
    assert names("[x].txt") == ["[x].txt"]
    assert names("?") == ["c/d.txt", "c/f/g.txt"]
    with pytest.raises(DocumentError, match=r"\*\.pdf fits no file"):
        read_documents([tmp_path / "*.pdf"])
