"""CSV and TSV: records where a column is called `text`, else one document with a line for each row."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, TypeAlias

from ytrag_core.documents.decoding import decode, decoded_pieces, settled_encoding
from ytrag_core.documents.long_text import long_document
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.records import Record, document_from_record
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ytrag_core.documents.source import Source

__all__ = ["read_table_file"]

_DELIMITERS = ",;\t|"
_LONGEST_CELL = 100_000_000
_PIECE = 1 << 18

_Lines: TypeAlias = "Callable[[], Iterator[str]]"
_Rows: TypeAlias = "Iterator[tuple[int, list[str]]]"


def read_table_file(source: Source) -> Iterator[Document | LongDocument | Problem]:
    """Yield the documents of a table.

    Parameters
    ----------
    source
        CSV (commas, semicolons, tabs or bars between the cells, told by the first line) or TSV, with a first
        row of column names.

    Yields
    ------
    Document, LongDocument or Problem
        With a column `text`: a document for each row, its columns `id` and `title` as in records, all others
        as metadata; a problem for a row without text. Else one document, each row a paragraph
        `column: value; column: value`.

    Raises
    ------
    ValueError
        If it is empty, not a text, or not a table; the message is the reason.
    OSError
        If it cannot be read.
    """
    lines, delimiter = _long_lines(source) if source.is_long() else _lines(source)
    rows = _rows(lines(), delimiter)
    header = next(rows, (0, []))[1]
    names = [clean_text(name).strip() or f"column {number}" for number, name in enumerate(header, 1)]
    fields = [name.lower() if name.lower() in {"id", "title", "text"} else name for name in names]
    if "text" in fields:
        yield from _records(source, fields, rows)
    elif source.is_long():
        yield _long_table(source, names, lambda: _rows(lines(), delimiter))
    else:
        yield _table(source, names, rows)


def _lines(source: Source) -> tuple[_Lines, str]:
    """Return what yields the lines of a file, held in memory, and the delimiter of their cells."""
    text = decode(source.read())
    if not text or text.isspace():
        raise ValueError("the file is empty")
    delimiter = _delimiter(text, source.suffix)
    text = text.replace("\0", "")
    return lambda: iter(io.StringIO(text, newline="")), delimiter


def _long_lines(source: Source) -> tuple[_Lines, str]:
    """Return the same of a file that is read anew each time, line by line."""
    encoding = settled_encoding(source.pieces)

    def lines() -> Iterator[str]:
        with io.TextIOWrapper(source.open(), encoding=encoding, newline="") as stream:
            for line in stream:
                yield line.replace("\0", "")

    return lines, _delimiter(next(decoded_pieces(source.pieces(), encoding)), source.suffix)


def _rows(lines: Iterator[str], delimiter: str) -> _Rows:
    """Yield the rows that are not blank with the number of their last line."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(lines, delimiter=delimiter)
    try:
        for row in reader:
            if any(cell and not cell.isspace() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        raise ValueError(f"not a table that can be read on from line {reader.line_num}: {error}") from error


def _delimiter(text: str, suffix: str) -> str:
    if suffix == ".tsv":
        return "\t"
    line = text.lstrip("\r\n").partition("\n")[0]
    # A comma inside quotes counts for none; where there is no delimiter at all, there is one column.
    bare = "".join(line.split('"')[::2])
    return max(_DELIMITERS, key=bare.count)


def _records(source: Source, fields: list[str], rows: _Rows) -> Iterator[Document | Problem]:
    for line, row in rows:
        where = f"{source.name}:{line}"
        cells = {name: cell for name, cell in zip(fields, row, strict=False) if cell and not cell.isspace()}
        if len(row) > len(fields):
            yield Problem(where, f"{len(row)} cells arrived, {len(fields)} columns have a name")
            continue
        yield document_from_record(Record(where, cells))


def _table(source: Source, names: list[str], rows: _Rows) -> Document:
    paragraphs = [_paragraph(names, row) for _, row in rows]
    text = "\n\n".join(paragraphs) if paragraphs else "; ".join(names)
    metadata = {"columns": names, "rows": len(paragraphs)}
    return Document(source.name, source.stem, text, source.name, metadata)


def _long_table(source: Source, names: list[str], rows: Callable[[], _Rows]) -> LongDocument:
    n_rows = 0

    def pieces() -> Iterator[str]:
        nonlocal n_rows
        coming = rows()
        next(coming, None)
        n_rows = size = 0
        held: list[str] = []
        for n_rows, (_, row) in enumerate(coming, 1):
            held.append(f"\n\n{_paragraph(names, row)}" if n_rows > 1 else _paragraph(names, row))
            size += len(held[-1])
            if size >= _PIECE:
                yield "".join(held)
                held, size = [], 0
        yield "".join(held) if n_rows else "; ".join(names)

    return long_document(source, pieces, metadata=lambda: {"columns": names, "rows": n_rows})


def _paragraph(names: list[str], row: list[str]) -> str:
    labels = [*names, *(f"column {number}" for number in range(len(names) + 1, len(row) + 1))]
    return "; ".join(
        f"{label}: {' '.join(clean_text(cell).split())}"
        for label, cell in zip(labels, row, strict=False)
        if cell and not cell.isspace()
    )
