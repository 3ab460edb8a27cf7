"""Files and folders to documents; what cannot be read is set aside with its reason."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from ytrag_core.documents.decoding import decode
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.records import Record, document_from_record, read_records
from ytrag_core.documents.text import clean_text, path_name
from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["SUFFIXES", "read_documents"]

SUFFIXES = (".jsonl", ".md", ".markdown", ".txt")

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_FRONT_MATTER = re.compile(r"---[^\S\n]*\n(.*?)^(?:---|\.\.\.)[^\S\n]*$", re.MULTILINE | re.DOTALL)
_FRONT_TITLE = re.compile(r"^title:(.*)$", re.MULTILINE)
_HEADING = re.compile(
    r"""
      ^[ ]{0,3} \#{1,6} [^\S\n]++ (?P<atx> .+ ) $
    | ^[ ]{0,3} (?P<setext> \S.* ) \n [ ]{0,3} (?: =+ | -{2,} ) [^\S\n]* $
    """,
    re.MULTILINE | re.VERBOSE,
)
_CLOSING = re.compile(r"(?<!\s)\s++#++$")
_LONGEST_TITLE = 300
_INLINE = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*`]+|(?<!\w)_+|_+(?!\w)|<[^>]+>|\{#[^}]*\}")


def read_documents(paths: Sequence[Path], *, skip: Path | None = None) -> Iterator[Document | Problem]:
    """Read files and folders one by one, in a fixed order.

    Parameters
    ----------
    paths
        Files (.txt, .md, .jsonl) and folders, which are walked sorted by name. Hidden entries of a folder
        are passed over; a file reached twice is read once.
    skip
        A folder that is passed over, for example the knowledge base itself; it need not exist.

    Yields
    ------
    Document or Problem
        A document for each text and each JSON Lines record; a problem for whatever cannot be one. Only one
        file's text is held at a time.

    Raises
    ------
    DocumentError
        If one of the paths does not exist, before anything is read.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise DocumentError(f"{path_name(path)} does not exist; a file or a folder was wanted")
    return _read_all(paths, skip)


def _read_all(paths: Sequence[Path], skip: Path | None) -> Iterator[Document | Problem]:
    seen_ids: dict[str, str] = {}
    for file in _files(paths, skip):
        for outcome in [file] if isinstance(file, Problem) else _read_file(file):
            if isinstance(outcome, Document):
                earlier = seen_ids.setdefault(outcome.id, outcome.source)
                if earlier != outcome.source:
                    yield Problem(outcome.source, f"the id {outcome.id!r} was already used at {earlier}")
                    continue
            yield outcome


def _files(paths: Sequence[Path], skip: Path | None) -> Iterator[Path | Problem]:
    seen: set[tuple[int, int]] = set()
    if skip is not None and skip.exists():
        status = skip.stat()
        seen.add((status.st_dev, status.st_ino))
    waiting = list(reversed(paths))
    while waiting:
        path = waiting.pop()
        try:
            status = path.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in seen:
                continue
            seen.add(identity)
            if stat.S_ISDIR(status.st_mode):
                entries = sorted(entry for entry in path.iterdir() if not entry.name.startswith("."))
                waiting.extend(reversed(entries))
            elif stat.S_ISREG(status.st_mode):
                yield path
            else:
                yield Problem(path_name(path), "neither a regular file nor a folder")
        except FileNotFoundError:
            yield Problem(path_name(path), "a symbolic link to nothing" if path.is_symlink() else "vanished")
        except OSError as error:
            yield Problem(path_name(path), f"cannot be read: {error.strerror or error}")


def _read_file(path: Path) -> Iterator[Document | Problem]:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        yield Problem(path_name(path), f"unknown file type {suffix or path.name!r}; known are {known}")
    elif suffix == ".jsonl":
        yield from _read_jsonl(path)
    else:
        yield _read_text(path, is_markdown=suffix != ".txt")


def _read_jsonl(path: Path) -> Iterator[Document | Problem]:
    is_blank = True
    for record in read_records(path):
        is_blank = False
        yield document_from_record(record) if isinstance(record, Record) else record
    if is_blank:
        yield Problem(path_name(path), "the file is empty")


def _read_text(path: Path, *, is_markdown: bool) -> Document | Problem:
    name = path_name(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        return Problem(name, f"cannot be read: {error.strerror or error}")
    try:
        text = decode(data)
    except ValueError as error:
        return Problem(name, str(error))
    del data
    text = clean_text(text)
    if not text or text.isspace():
        return Problem(name, "the file is empty")
    title = (_markdown_title(text) if is_markdown else "") or path_name(Path(path.stem))
    return Document(id=name, title=title, text=text, source=name)


def _markdown_title(text: str) -> str:
    """Return the title of the front matter, else the first heading, else nothing."""
    body = text[:100_000]
    front = _FRONT_MATTER.match(body)
    if front is not None:
        titled = _FRONT_TITLE.search(front[1])
        title = "" if titled is None else _unquoted(titled[1].strip())[:_LONGEST_TITLE].strip()
        if title:
            return title
        body = body[front.end() :]
    heading = _HEADING.search(_FENCE.sub("", body))
    if heading is None:
        return ""
    line = _CLOSING.sub("", (heading["atx"] or heading["setext"]).rstrip())[:_LONGEST_TITLE]
    return " ".join(_INLINE.sub(r"\1", line).split())


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text
