"""Which reader takes which kind of file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.documents.decoding import decode
from ytrag_core.documents.headings import markdown_headings, markdown_title, text_headings
from ytrag_core.documents.long_text import decoded, long_document
from ytrag_core.documents.markup import read_html
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.pdf import read_pdf
from ytrag_core.documents.records import Record, document_from_record, read_json, read_records
from ytrag_core.documents.tabular import read_table_file
from ytrag_core.documents.text import clean_pieces, clean_text
from ytrag_core.documents.word import read_docx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import TypeAlias

    from ytrag_core.documents.source import Source

__all__ = ["READERS", "SUFFIXES"]

_Outcomes: TypeAlias = "Iterator[Document | LongDocument | Problem]"


def _read_text(source: Source) -> _Outcomes:
    if source.is_long():
        yield long_document(source, _pieces(source), headings=text_headings)
        return
    text = _text(source)
    yield Document(source.name, source.stem, text, source.name, headings=text_headings([text]))


def _read_markdown(source: Source) -> _Outcomes:
    if source.is_long():
        yield long_document(source, _pieces(source), headings=markdown_headings, title=markdown_title)
        return
    text = _text(source)
    title = markdown_title(text) or source.stem
    yield Document(source.name, title, text, source.name, headings=markdown_headings([text]))


def _pieces(source: Source) -> Callable[[], Iterator[str]]:
    pieces = decoded(source)
    return lambda: clean_pieces(pieces())


def _text(source: Source) -> str:
    text = clean_text(decode(source.read()))
    if not text or text.isspace():
        raise ValueError("the file is empty")
    return text


def _read_jsonl(source: Source) -> Iterator[Document | Problem]:
    return _documents(read_records(source))


def _read_json(source: Source) -> Iterator[Document | Problem]:
    return _documents(read_json(source))


def _documents(records: Iterable[Record | Problem]) -> Iterator[Document | Problem]:
    for record in records:
        yield document_from_record(record) if isinstance(record, Record) else record


READERS: Mapping[str, Callable[[Source], _Outcomes]] = {
    ".csv": read_table_file,
    ".docx": read_docx,
    ".htm": read_html,
    ".html": read_html,
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".markdown": _read_markdown,
    ".md": _read_markdown,
    ".ndjson": _read_jsonl,
    ".pdf": read_pdf,
    ".text": _read_text,
    ".tsv": read_table_file,
    ".txt": _read_text,
    ".xhtml": read_html,
}
SUFFIXES = tuple(READERS)
