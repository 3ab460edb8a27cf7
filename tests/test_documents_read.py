from __future__ import annotations

import codecs
import json
import os
import tracemalloc
from pathlib import Path

import pytest

from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.errors import DocumentError

POEM = "床前明月光，疑是地上霜。举头望明月，低头思故乡。"


def read(*paths: Path) -> tuple[list[Document], list[Problem]]:
    outcomes = list(read_documents(paths))
    documents = [outcome for outcome in outcomes if isinstance(outcome, Document)]
    return documents, [outcome for outcome in outcomes if isinstance(outcome, Problem)]


def test_text_file_is_one_document(tmp_path: Path) -> None:
    path = tmp_path / "The Harbour.txt"
    path.write_bytes("Ships\r\ncome 🚢.\r".encode())
    documents, problems = read(path)
    assert problems == []
    assert [(d.id, d.title, d.text, d.has_record_id) for d in documents] == [
        (path.as_posix(), "The Harbour", "Ships\ncome 🚢.\n", False)
    ]


@pytest.mark.parametrize(
    "data",
    [
        POEM.encode(),
        codecs.BOM_UTF8 + POEM.encode(),
        codecs.BOM_UTF16_LE + POEM.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + POEM.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + POEM.encode("utf-32-le"),
        POEM.encode("gb18030"),
        POEM.encode("utf-16-le") + "\n".encode("utf-16-le"),
    ],
)
def test_encodings_give_the_same_text(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "poem.txt"
    path.write_bytes(data)
    documents, problems = read(path)
    assert problems == []
    assert documents[0].text.strip() == POEM


def test_western_text_with_few_accents_is_read(tmp_path: Path) -> None:
    text = "He met Zoë and José at the café in Málaga; both of them were late for the evening train."
    path = tmp_path / "old.txt"
    path.write_bytes(text.encode("cp1252"))
    assert read(path)[0][0].text == text


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("empty.txt", b"", "empty"),
        ("blank.txt", b" \n\t\n", "empty"),
        ("empty.jsonl", b"", "empty"),
        ("nul.txt", b"abc\0def", "NUL"),
        ("other.txt", "Привет, мир! Это русский текст.".encode("cp1251"), "UTF-8"),
        ("cut.txt", codecs.BOM_UTF16_LE + b"a\0b", "utf-16"),
        ("picture.png", b"\x89PNG", "unknown file type '.png'"),
        ("README", b"text", "unknown file type 'README'"),
    ],
)
def test_what_is_no_text_is_a_problem(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    documents, problems = read(tmp_path)
    assert documents == []
    assert [problem.source for problem in problems] == [(tmp_path / name).as_posix()]
    assert reason in problems[0].reason


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# The *Blue* [Bridge](x.html) #\n\ntext", "The Blue Bridge"),
        ("intro\n\nBridges\n=======\n\ntext", "Bridges"),
        ("```\n# no heading\n```\n\n## Real one\n", "Real one"),
        ('---\nauthor: A\ntitle: "From Above"\n---\n# Below\n', "From Above"),
        ("no heading at all", "page"),
    ],
)
def test_markdown_title(tmp_path: Path, text: str, title: str) -> None:
    (tmp_path / "page.md").write_text(text)
    assert read(tmp_path)[0][0].title == title


def test_folder_is_walked_in_order_without_hidden_files(tmp_path: Path) -> None:
    for name in ["b/2.txt", "b/10.txt", "a.txt", ".git/c.txt", ".hidden.txt", "c/d/e.md"]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"text of {name}")
    documents, problems = read(tmp_path)
    assert problems == []
    found = [Path(document.id).relative_to(tmp_path).as_posix() for document in documents]
    assert found == ["a.txt", "b/10.txt", "b/2.txt", "c/d/e.md"]


def test_links_are_followed_once(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "one.txt").write_text("one")
    (folder / "loop").symlink_to(folder)
    (folder / "same.txt").symlink_to(folder / "one.txt")
    (folder / "self.txt").symlink_to(folder / "self.txt")
    (folder / "gone.txt").symlink_to(folder / "nowhere.txt")
    documents, problems = read(folder, folder / "one.txt")
    assert [document.text for document in documents] == ["one"]
    reasons = {Path(problem.source).name: problem.reason for problem in problems}
    assert reasons.keys() == {"self.txt", "gone.txt"}
    assert reasons["gone.txt"] == "a symbolic link to nothing"


def test_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    assert "neither" in read(tmp_path)[1][0].reason


def test_unreadable_file_is_a_problem(tmp_path: Path) -> None:
    memory = Path("/proc/self/mem")
    if not memory.exists():
        pytest.skip("needs a file that the system refuses to read")
    (tmp_path / "memory.txt").symlink_to(memory)
    (tmp_path / "memory.jsonl").symlink_to("/proc/self/attr/current")
    (tmp_path / "plain.txt").write_text("plain")
    documents, problems = read(tmp_path)
    assert [document.text for document in documents] == ["plain"]
    assert any("cannot be read" in problem.reason for problem in problems)


def test_locked_file_is_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "locked.txt"
    path.write_text("secret")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert "cannot be read" in read(tmp_path)[1][0].reason


def test_missing_path_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="nowhere does not exist"):
        read_documents([tmp_path, tmp_path / "nowhere"])


def test_empty_folder_yields_nothing(tmp_path: Path) -> None:
    assert read(tmp_path) == ([], [])


def test_records(tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": "a", "title": "A", "text": "first", "year": 1999}),
        json.dumps({"id": 7, "text": "second\r\nline"}),
        "",
        json.dumps({"text": "no id"}),
        "{broken",
        "[1, 2]",
        json.dumps({"id": "a", "text": "again"}),
        json.dumps({"id": "b", "text": ""}),
        json.dumps({"id": "c"}),
        json.dumps({"id": [1], "text": "x"}),
        json.dumps({"id": True, "text": "x"}),
        '{"id": "d", "text": "x", "weight": NaN}',
        '{"id": "e", "text": "x", "weight": 1e999}',
        "[" * 100_000,
        '{"id": "f", "text": "nul \\u0000 and \\ud800 half"}',
        '{"id": "g", "title": {"x": 1}, "text": "x"}',
    ]
    path = tmp_path / "records.jsonl"
    path.write_bytes(codecs.BOM_UTF8 + "\n".join(lines).encode() + b'\n{"id": "h", "text": "\xff"}\n')
    documents, problems = read(path)
    name = path.as_posix()
    assert [(d.id, d.title, d.text, d.has_record_id) for d in documents] == [
        ("a", "A", "first", True),
        ("7", "", "second\nline", True),
        (f"{name}:4", "", "no id", False),
        ("f", "", "nul  and \ufffd half", True),
    ]
    assert documents[0].metadata == {"year": 1999}
    assert documents[0].source == f"{name}:1"
    assert [int(problem.source.rpartition(":")[2]) for problem in problems] == [
        5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17,
    ]  # fmt: skip
    assert "NaN" in problems[7].reason
    assert f"{name}:1" in problems[2].reason


def test_records_in_utf16(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text('{"id": "a", "text": "甲"}\n{"id": "b", "text": "乙"}\n', encoding="utf-16")
    assert [document.text for document in read(path)[0]] == ["甲", "乙"]


def test_memory_is_a_small_multiple_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "large.txt"
    path.write_bytes(b"A line of a large file, with its end.\r\n" * 200_000)
    size = path.stat().st_size
    tracemalloc.start()
    documents, _ = read(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(documents) == 1
    assert peak < 3 * size


def test_shared_documents_are_read(shared_data: Path) -> None:
    documents, problems = read(shared_data / "docs")
    titles = {Path(document.id).name: document.title for document in documents}
    assert titles["constitution_prc.md"] == "中华人民共和国宪法"
    assert len(documents) == 23
    assert problems == []
    assert titles["rust_book_ch04-01-what-is-ownership.html"] == "什么是所有权？"
    assert titles["gfmrag_data_preparation.html"] == "Build Your Own Dataset"
    for document in documents:
        assert list(document.pages) == sorted(document.pages)
        starts = [heading.start for heading in document.headings]
        assert starts == sorted(starts)
    assert not any(document.text.startswith("\ufeff") for document in documents)


@pytest.mark.parametrize("depth", [600, 900])
def test_a_record_nested_too_deeply_costs_no_other(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "records.jsonl"
    deep = "[" * depth + "]" * depth
    path.write_text(
        f'{{"id": "a", "text": "x", "m": {deep}}}\n{{"id": "b", "text": "y"}}\n', encoding="utf-8"
    )
    outcomes = list(read_documents([path]))
    assert [item.id for item in outcomes if isinstance(item, Document)] == ["b"]
    assert [item.reason for item in outcomes if isinstance(item, Problem)] == [
        "its metadata is nested too deeply"
    ]
