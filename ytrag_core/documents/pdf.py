"""PDF with a text layer: its pages' characters by PDFium, its lines and paragraphs by rules of our own."""

from __future__ import annotations

import ctypes
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.builder import joined_lines
from ytrag_core.documents.extras import MissingParserError
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.pdf_layout import Glyph, Line, lines_of, pieces_of, reading_order
from ytrag_core.documents.pdf_text import Bookmark, compose, without_running_heads
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ytrag_core.documents.source import Source

__all__ = ["read_pdf"]

_BOLD = re.compile(r"bold|heavy|black|semibold|simhei|heiti|黑体", re.IGNORECASE)
_BOLD_WEIGHT = 600
_METADATA = {"Author": "author", "Subject": "subject", "Keywords": "keywords", "CreationDate": "created"}
_NO_TITLE = re.compile(
    r"untitled|microsoft word|.*\.(?:docx?|pdf|tex|indd|pptx?|xlsx?)$|无标题|\W*$", re.IGNORECASE
)
_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?")
_HYPHEN = "\u00ad"
_UNREADABLE_SHARE = 0.3
_PAGES_NAMED = 10


def read_pdf(source: Source) -> Iterator[Document | Problem]:
    """Yield the document of a PDF, and a problem for pages of it that have no text layer.

    Parameters
    ----------
    source
        A PDF that opens without a password.

    Raises
    ------
    ValueError
        If it is encrypted, damaged, scanned (no page has text) or its text cannot be read; the message is the
        reason.
    OSError
        If it cannot be read.
    """
    try:
        import pypdfium2
    except ImportError as error:
        raise MissingParserError("PDF", "pypdfium2") from error
    data = source.read()
    if not data:
        raise ValueError("the file is empty")
    try:
        with pypdfium2.PdfDocument(data) as pdf:
            pages, bookmarks = _lines(pdf), _bookmarks(pdf)
            told = pdf.get_metadata_dict(skip_empty=True)
    except pypdfium2.PdfiumError as error:
        raise ValueError(_reason(str(error))) from error
    silent = [number for number, lines in enumerate(pages, 1) if not lines]
    if len(silent) == len(pages):
        raise ValueError(
            f"no text layer on any of its {len(pages)} pages (scanned?); recognise the text first (OCR)"
        )
    builder, biggest = compose(without_running_heads(pages), bookmarks)
    text = builder.text()
    if _unreadable(text) > _UNREADABLE_SHARE:
        raise ValueError("its fonts do not say which characters they show; recognise the text instead (OCR)")
    title = joined_lines(clean_text(told.get("Title", ""))).strip()
    if _NO_TITLE.match(title):
        title = biggest
    yield Document(
        source.name,
        title or source.stem,
        text,
        source.name,
        _metadata(told, len(pages)),
        headings=tuple(builder.headings),
        pages=tuple(builder.pages),
    )
    if silent:
        named = ", ".join(map(str, silent[:_PAGES_NAMED])) + (" ..." if len(silent) > _PAGES_NAMED else "")
        yield Problem(
            source.name, f"no text layer on {len(silent)} of {len(pages)} pages ({named}); the rest is read"
        )


def _reason(message: str) -> str:
    if "password" in message.lower() or "security" in message.lower():
        return "encrypted; save it without a password"
    return f"not a PDF that can be read: {message}"


def _metadata(told: dict[str, str], n_pages: int) -> dict[str, Any]:
    metadata: dict[str, Any] = {"pages": n_pages}
    for key, name in _METADATA.items():
        value = joined_lines(clean_text(told.get(key, ""))).strip()
        date = _DATE.match(value)
        if key == "CreationDate":
            value = "-".join(part for part in date.groups() if part) if date else ""
        if value:
            metadata[name] = value
    return metadata


def _bookmarks(pdf: Any) -> list[Bookmark]:
    found = []
    for entry in pdf.get_toc(max_depth=6):
        target = entry.get_dest()
        index = None if target is None else target.get_index()
        title = joined_lines(clean_text(entry.get_title())).strip()
        if index is not None and title:
            found.append(Bookmark(index + 1, entry.level + 1, title))
    return found


def _lines(pdf: Any) -> list[list[Line]]:
    """Return the lines of each page in reading order, none for a page without text."""
    from pypdfium2 import PdfiumError

    pages: list[list[Line]] = []
    for number in range(1, len(pdf) + 1):
        try:
            page = pdf[number - 1]
            text_page = page.get_textpage()
        except PdfiumError:  # a damaged page costs no other; it is told as one without text
            pages.append([])
            continue
        pieces = pieces_of(_glyphs(page, text_page))
        pages.append([line for group in reading_order(pieces) for line in lines_of(group, number)])
        text_page.close()
        page.close()
    return pages


def _glyphs(page: Any, text_page: Any) -> Iterator[Glyph]:
    import pypdfium2.raw as pdfium

    raw = text_page.raw
    box = pdfium.FS_RECTF()
    width, height = page.get_size()
    rotation = page.get_rotation()
    styles: dict[int, _Style] = {}
    baseline, other = ctypes.c_double(), ctypes.c_double()
    for index in range(pdfium.FPDFText_CountChars(raw)):
        code = pdfium.FPDFText_GetUnicode(raw, index)
        if code in (0x0D, 0x0A):
            yield Glyph("\n", 0, 0, 0, 0, 0)
            continue
        # PDFium marks the hyphen of a word that goes on in the next line; other controls show nothing.
        if code < 0x20 or code == 0xFFFE:
            if code not in (2, 0xFFFE):
                continue
            code = ord(_HYPHEN)
        if not pdfium.FPDFText_GetLooseCharBox(raw, index, box):
            continue
        shown = ctypes.cast(pdfium.FPDFText_GetTextObject(raw, index), ctypes.c_void_p).value or 0
        style = styles.get(shown)
        if style is None or not shown:
            style = styles[shown] = _style(raw, index, box)
        bottom, top = box.bottom, box.top
        if style.is_upright and pdfium.FPDFText_GetCharOrigin(raw, index, other, baseline):
            # Boxes are as high as each font likes; the baseline is one for all fonts of a line.
            bottom, top = baseline.value - 0.2 * style.size, baseline.value + 0.8 * style.size
        corners = _upright((box.left, bottom, box.right, top), rotation, width, height)
        yield Glyph(chr(code), *corners, style.size, style.is_bold)


@dataclass(frozen=True, slots=True)
class _Style:
    """How a stretch of text is set: type size in points, weight, and whether it runs from left to right."""

    size: float
    is_bold: bool
    is_upright: bool


def _style(raw: Any, index: int, box: Any) -> _Style:
    import pypdfium2.raw as pdfium

    name, flags, matrix = ctypes.create_string_buffer(128), ctypes.c_int(), pdfium.FS_MATRIX()
    pdfium.FPDFText_GetFontInfo(raw, index, name, len(name), flags)
    named = name.value.decode("utf-8", "replace")
    is_bold = pdfium.FPDFText_GetFontWeight(raw, index) >= _BOLD_WEIGHT or bool(_BOLD.search(named))
    if not pdfium.FPDFText_GetMatrix(raw, index, matrix):
        return _Style(abs(box.top - box.bottom) or 1.0, is_bold, is_upright=False)
    size = pdfium.FPDFText_GetFontSize(raw, index) * math.hypot(matrix.c, matrix.d)
    is_upright = matrix.a > 0 and abs(matrix.b) < 0.05 * matrix.a
    return _Style(size if 0.5 < size < 2000 else abs(box.top - box.bottom) or 1.0, is_bold, is_upright)


def _upright(
    box: tuple[float, float, float, float], rotation: int, width: float, height: float
) -> tuple[float, float, float, float]:
    """Return a box as it lies on the page that is shown, which is `width` x `height` after its rotation."""
    left, bottom, right, top = box
    if rotation == 90:
        return bottom, height - right, top, height - left
    if rotation == 180:
        return width - right, height - top, width - left, height - bottom
    if rotation == 270:
        return width - top, left, width - bottom, right
    return left, bottom, right, top


def _unreadable(text: str) -> float:
    """Return the share of characters that mean nothing: replacements, and those for private use."""
    n = sum(character == "\ufffd" or "\ue000" <= character <= "\uf8ff" for character in text)
    return n / max(1, len(text))
