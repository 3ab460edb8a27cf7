"""CSV and TSV: records where a column is called `text`, else one document with a line for each row."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from ytrag_core.documents.decoding import decode
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.records import Record, document_from_record
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ytrag_core.documents.source import Source

__all__ = ["read_table_file"]

_DELIMITERS = ",;\t|"
_LONGEST_CELL = 100_000_000


def read_table_file(source: Source) -> Iterator[Document | Problem]:
    """Yield the documents of a table.

    Parameters
    ----------
    source
        CSV (commas, semicolons, tabs or bars between the cells, told by the first line) or TSV, with a first
        row of column names.

    Yields
    ------
    Document or Problem
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
    text = decode(source.read())
    if not text or text.isspace():
        raise ValueError("the file is empty")
    rows = _rows(text.replace("\0", ""), _delimiter(text, source.suffix))
    del text
    header = next(rows, (0, []))[1]
    names = [clean_text(name).strip() or f"column {number}" for number, name in enumerate(header, 1)]
    fields = [name.lower() if name.lower() in {"id", "title", "text"} else name for name in names]
    if "text" in fields:
        yield from _records(source, fields, rows)
    else:
        yield _whole(source, names, rows)


def _rows(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank with the number of their last line."""
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
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


def _records(
    source: Source, fields: list[str], rows: Iterator[tuple[int, list[str]]]
) -> Iterator[Document | Problem]:
    for line, row in rows:
        where = f"{source.name}:{line}"
        cells = {name: cell for name, cell in zip(fields, row, strict=False) if cell and not cell.isspace()}
        if len(row) > len(fields):
            yield Problem(where, f"{len(row)} cells arrived, {len(fields)} columns have a name")
            continue
        yield document_from_record(Record(where, cells))


def _whole(source: Source, names: list[str], rows: Iterator[tuple[int, list[str]]]) -> Document:
    lines = []
    for _, row in rows:
        labels = [*names, *(f"column {number}" for number in range(len(names) + 1, len(row) + 1))]
        cells = (
            f"{label}: {' '.join(clean_text(cell).split())}"
            for label, cell in zip(labels, row, strict=False)
            if cell and not cell.isspace()
        )
        lines.append("; ".join(cells))
    text = "\n\n".join(lines) if lines else "; ".join(names)
    metadata = {"columns": names, "rows": len(lines)}
    return Document(source.name, source.stem, text, source.name, metadata)
