"""Word documents (docx): paragraphs, headings, lists, tables and footnotes, by the parts of the archive."""

from __future__ import annotations

import re
import zipfile
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from ytrag_core.documents.archive import ArchiveLimits, unpacked
from ytrag_core.documents.builder import TextBuilder, joined_lines
from ytrag_core.documents.model import Document, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ytrag_core.documents.source import Source

__all__ = ["read_docx"]

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CORE = {
    "{http://purl.org/dc/elements/1.1/}title": "title",
    "{http://purl.org/dc/elements/1.1/}creator": "author",
    "{http://purl.org/dc/elements/1.1/}subject": "subject",
    "{http://purl.org/dc/terms/}created": "created",
}
_HEADING_NAME = re.compile(r"(?:heading|标题|標題)\s*([1-9])$", re.IGNORECASE)
_SPACES = {f"{_W}tab": "\t", f"{_W}br": "\n", f"{_W}cr": "\n", f"{_W}noBreakHyphen": "-"}
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_TOTAL = 1 << 30
_DEEPEST = 200


def read_docx(source: Source) -> Iterator[Document | Problem]:
    """Yield the document of a Word file.

    Parameters
    ----------
    source
        A .docx file: Office Open XML, not encrypted.

    Raises
    ------
    ValueError
        If it is something else, encrypted, damaged or without text; the message is the reason.
    OSError
        If it cannot be read.
    """
    with source.open() as stream:
        if stream.read(len(_OLE)) == _OLE:
            raise ValueError("encrypted, or an old .doc: save it without a password as .docx")
        stream.seek(0)
        try:
            with zipfile.ZipFile(stream) as archive:
                parts = _parts(archive)
        except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
            raise ValueError(f"not a Word document that can be read: {error}") from error
    if "word/document.xml" not in parts:
        raise ValueError("not a Word document: word/document.xml is not in it")
    body = parts["word/document.xml"].find(f"{_W}body")
    writer = _Writer(_heading_levels(parts.get("word/styles.xml")))
    if body is not None:
        writer.blocks(body)
    for notes in ("word/footnotes.xml", "word/endnotes.xml"):
        if notes in parts:
            for note in parts[notes]:
                if note.get(f"{_W}type") is None:
                    writer.blocks(note)
    text = writer.builder.text()
    if not text:
        raise ValueError("no text is in it; where it shows pictures of text, recognise it first (OCR)")
    metadata = _core(parts.get("docProps/core.xml"))
    told = metadata.pop("title", "") or writer.title
    tops = [heading.text for heading in writer.builder.headings if heading.level == 1]
    title = told or (tops[0] if tops else source.stem)
    yield Document(source.name, title, text, source.name, metadata, headings=tuple(writer.builder.headings))


def _parts(archive: zipfile.ZipFile) -> dict[str, ET.Element]:
    limits = ArchiveLimits(total=_TOTAL)
    wanted = {
        "word/document.xml", "word/styles.xml", "word/footnotes.xml", "word/endnotes.xml", "docProps/core.xml"
    }  # fmt: skip
    parts = {}
    for member in archive.infolist():
        if member.filename in wanted:
            data = unpacked(archive, member, limits)
            if b"<!DOCTYPE" in data[:4096] or b"<!ENTITY" in data:
                raise ValueError(f"{member.filename} declares entities, which no Word document does")
            try:
                parts[member.filename] = ET.fromstring(data)
            except ET.ParseError as error:
                raise ValueError(f"{member.filename} is not valid XML: {error}") from error
    return parts


def _heading_levels(styles: ET.Element | None) -> dict[str, int]:
    """Return the heading level of each style that has one; 0 for that of the title."""
    levels: dict[str, int] = {}
    for style in styles.iter(f"{_W}style") if styles is not None else ():
        name = style.find(f"{_W}name")
        told = "" if name is None else name.get(f"{_W}val", "")
        identity = style.get(f"{_W}styleId", "")
        numbered = _HEADING_NAME.match(told)
        outline = style.find(f"{_W}pPr/{_W}outlineLvl")
        if numbered is not None:
            levels[identity] = int(numbered[1])
        elif told.lower() in {"title", "标题", "標題"}:
            levels[identity] = 0
        elif (
            outline is not None
            and outline.get(f"{_W}val", "").isdigit()
            and int(outline.get(f"{_W}val", "9")) < 9
        ):
            levels[identity] = int(outline.get(f"{_W}val", "0")) + 1
    return levels


def _core(core: ET.Element | None) -> dict[str, Any]:
    metadata = {}
    for entry in core if core is not None else ():
        name = _CORE.get(entry.tag)
        value = joined_lines(entry.text or "").strip()
        if name and value:
            metadata[name] = value
    return metadata


class _Writer:
    """Writes the blocks of a document's parts."""

    def __init__(self, levels: dict[str, int]) -> None:
        self.builder = TextBuilder()
        self.title = ""
        self._levels = levels

    def blocks(self, parent: ET.Element, depth: int = 0) -> None:
        if depth > _DEEPEST:
            raise ValueError("nested too deeply")
        for child in parent:
            if child.tag == f"{_W}p":
                self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._table(child)
            elif child.tag != _FALLBACK:
                self.blocks(child, depth + 1)

    def _paragraph(self, paragraph: ET.Element) -> None:
        text = _text(paragraph)
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        level = self._levels.get("" if style is None else style.get(f"{_W}val", ""))
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        if outline is not None and outline.get(f"{_W}val", "9") in "012345678":
            level = int(outline.get(f"{_W}val", "0")) + 1
        if level is not None and text:
            if level == 0:
                self.title = self.title or joined_lines(text).strip()
            self.builder.heading(max(level, 1), text)
            return
        if paragraph.find(f"{_W}pPr/{_W}numPr") is not None:
            if text:
                self.builder.item()
        else:
            self.builder.paragraph()
        self.builder.add(text)

    def _table(self, table: ET.Element) -> None:
        self.builder.paragraph()
        for row in table.iter(f"{_W}tr"):
            cells = [
                " ".join(joined_lines(_text(part)) for part in cell.iter(f"{_W}p")).strip()
                for cell in row.iter(f"{_W}tc")
            ]
            if any(cells):
                self.builder.line()
                self.builder.add(" | ".join(cells))
        self.builder.paragraph()


def _text(paragraph: ET.Element) -> str:
    """Return what a paragraph shows, text boxes in it included, deletions left out."""
    pieces: list[str] = []
    waiting = list(reversed(paragraph))
    while waiting:
        element = waiting.pop()
        if element.tag == f"{_W}t":
            pieces.append(element.text or "")
        elif element.tag in _SPACES:
            pieces.append(_SPACES[element.tag])
        elif element.tag not in {_FALLBACK, f"{_W}pPr", f"{_W}rPr", f"{_W}instrText"}:
            if element.tag == f"{_W}p":
                pieces.append("\n")
            waiting.extend(reversed(element))
    return "".join(pieces).strip()
