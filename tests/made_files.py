"""Small PDF, Word and zip files for tests, made by hand."""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX_STYLES = f"""<w:styles xmlns:w="{W}">
<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style>
<w:style w:type="paragraph" w:styleId="B2"><w:name w:val="标题 2"/></w:style>
</w:styles>"""


@dataclass(frozen=True, slots=True)
class Put:
    """A text on a page: its baseline starts at (x, y) points from the bottom left."""

    x: float
    y: float
    text: str
    size: float = 10
    bold: bool = False


def pdf(
    pages: Sequence[Sequence[Put]],
    *,
    title: str = "",
    encrypted: bool = False,
    bookmarks: Sequence[tuple[int, str]] = (),
) -> bytes:
    """Return a PDF of A4 pages; `bookmarks` are pairs of page (from 0) and title."""
    objects: dict[int, bytes] = {
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        5: b"<< /Type /Font /Subtype /Type0 /BaseFont /STSong-Light /Encoding /UniGB-UCS2-H"
        b" /DescendantFonts [6 0 R] >>",
        6: b"<< /Type /Font /Subtype /CIDFontType0 /BaseFont /STSong-Light /DW 1000 /FontDescriptor 7 0 R"
        b" /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>",
        7: b"<< /Type /FontDescriptor /FontName /STSong-Light /Flags 6 /ItalicAngle 0 /Ascent 880"
        b" /Descent -120 /CapHeight 880 /StemV 93 /FontBBox [-25 -254 1000 880] >>",
        8: b"<< /Title <" + ("\ufeff" + title).encode("utf-16-be").hex().encode() + b"> >>",
    }
    first = 10
    kids = []
    for number, puts in enumerate(pages):
        content = b"\n".join(map(_drawn, puts))
        kids.append(first + 2 * number)
        objects[first + 2 * number] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents %d 0 R"
            b" /Resources << /Font << /F 3 0 R /B 4 0 R /C 5 0 R >> >> >>" % (first + 2 * number + 1)
        )
        objects[first + 2 * number + 1] = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)
    refs = b" ".join(b"%d 0 R" % kid for kid in kids)
    objects[2] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), refs)
    start = first + 2 * len(pages)
    outline = b""
    for place, (page, name) in enumerate(bookmarks):
        following = b" /Next %d 0 R" % (start + place + 2) if place + 1 < len(bookmarks) else b""
        objects[start + place + 1] = b"<< /Title (%s) /Parent %d 0 R /Dest [%d 0 R /Fit]%s >>" % (
            name.encode("latin-1"), start, kids[page], following,
        )  # fmt: skip
    if bookmarks:
        outline = b" /Outlines %d 0 R" % start
        last = start + len(bookmarks)
        objects[start] = b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (start + 1, last, len(bookmarks))
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % outline
    extra = b" /Info 8 0 R"
    if encrypted:
        key = b"5f" * 32
        objects[9] = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (key, key)
        extra += b" /Encrypt 9 0 R /ID [<00112233> <00112233>]"
    return _assembled(objects, extra)


def _drawn(put: Put) -> bytes:
    if put.text.isascii():
        escaped = put.text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
        shown, font = b"(" + escaped.encode() + b")", b"B" if put.bold else b"F"
    else:
        shown, font = b"<" + put.text.encode("utf-16-be").hex().encode() + b">", b"C"
    return b"BT /%s %g Tf %g %g Td %s Tj ET" % (font, put.size, put.x, put.y, shown)


def _assembled(objects: Mapping[int, bytes], extra: bytes) -> bytes:
    out = bytearray(b"%PDF-1.4\n")
    places = {}
    for number in sorted(objects):
        places[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, objects[number])
    table, size = len(out), max(objects) + 1
    out += b"xref\n0 %d\n0000000000 65535 f \n" % size
    for number in range(1, size):
        out += b"%010d 00000 n \n" % places[number] if number in places else b"0000000000 65535 f \n"
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (size, extra, table)
    return bytes(out)


def column(lines: Sequence[str], x: float, y: float, *, size: float = 10, pitch: float = 12) -> list[Put]:
    """Return lines below each other."""
    return [Put(x, y - pitch * n, line, size) for n, line in enumerate(lines)]


def paragraph(text: str, style: str = "") -> str:
    """Return a paragraph of a Word document."""
    styled = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{styled}<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def docx(body: str, *, parts: Mapping[str, str] | None = None) -> bytes:
    """Return a Word document with this body."""
    xml = f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    return zipped({"word/document.xml": xml, "word/styles.xml": DOCX_STYLES, **(parts or {})})


def zipped(members: Mapping[str, bytes | str]) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def nested(depth: int, innermost: bytes = b"deep") -> bytes:
    """Return an archive in an archive in an archive, `depth` of them."""
    data = zipped({"note.txt": innermost})
    for level in range(depth - 1):
        data = zipped({f"level{level}.zip": data})
    return data
