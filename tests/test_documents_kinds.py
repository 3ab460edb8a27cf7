"""HTML, Word, tables and JSON: what of them becomes text, headings, titles and metadata."""

from __future__ import annotations

import builtins
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.made_files import W, docx, paragraph, zipped
from ytrag_core.documents.kinds import READERS
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.source import bytes_source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Salt Tower - Town Site</title>
<meta name="author" content="A. Quade"><style>p {}</style><script>var x = "no";</script></head><body>
<header><a href="/">Town Site</a></header><nav><ul><li><a href="a">Home</a></li></ul></nav>
<div class="sidebar">Aside from it</div>
<main><h1>The <em>Salt</em> Tower<a class="headerlink" href="#x">¶</a></h1>
<p>It was built by
Rufina&nbsp;Stell.<br>In 1742.</p>
<h2>Figures</h2>
<table><caption>Heights</caption><tr><th>Part</th><th>Metres</th></tr>
<tr><td>Tower <b>itself</b></td><td>31</td></tr><tr><td></td><td></td></tr></table>
<ul><li>one</li><li><p>two</p><p>more of two</p></li></ul>
<pre>a  = 1
  b</pre>
<p>盐塔由鲁菲娜
设计。</p><script>alert(1)</script></main>
<footer>© Town</footer></body></html>"""


def outcomes(name: str, data: bytes | str) -> list[Document | Problem]:
    raw = data.encode() if isinstance(data, str) else data
    source = bytes_source(name, raw)
    return [item for item in READERS[source.suffix](source) if not isinstance(item, LongDocument)]


def one(name: str, data: bytes | str) -> Document:
    (document,) = outcomes(name, data)
    assert isinstance(document, Document)
    for heading in document.headings:
        assert document.text.startswith(heading.text, heading.start)
    return document


def levels(document: Document) -> list[tuple[int, str]]:
    return [(heading.level, heading.text) for heading in document.headings]


def test_html_main_text() -> None:
    document = one("page.html", PAGE)
    assert document.text == (
        "The Salt Tower\n\nIt was built by Rufina Stell.\nIn 1742.\n\nFigures\n\n"
        "Heights\nPart | Metres\nTower itself | 31\n\n- one\n- two\n\nmore of two\n\n"
        "a  = 1\n  b\n\n盐塔由鲁菲娜设计。"
    )
    assert document.title == "The Salt Tower"
    assert levels(document) == [(1, "The Salt Tower"), (2, "Figures")]
    assert document.metadata == {"author": "A. Quade", "language": "en"}


@pytest.mark.parametrize(
    ("html", "title"),
    [
        ("<title>Ports | Site</title><h2>Ports</h2><p>x", "Ports"),
        ("<title>Ports</title><p>x", "Ports"),
        ("<title>Site</title><h1>A</h1><h1>B</h1><p>x", "Site"),
        ("<h3>Only</h3><p>x", "Only"),
        ("<p>x", "page"),
    ],
)
def test_html_title(html: str, title: str) -> None:
    assert one("page.htm", html).title == title


def test_html_without_a_marked_main_part_loses_its_link_lists() -> None:
    links = "".join(f"<li><a href='{n}'>Some other page {n}</a></li>" for n in range(9))
    html = f"<body><ul>{links}</ul><p>The <a href='x'>text</a> itself.</p></body>"
    assert one("page.html", html).text == "The text itself."


@pytest.mark.parametrize("encoding", ["gb2312", "utf-8", "utf-16"])
def test_html_says_its_encoding(encoding: str) -> None:
    html = f'<html><head><meta charset="{encoding}"></head><body>盐塔</body></html>'
    assert one("page.html", html.encode(encoding)).text == "盐塔"


@pytest.mark.parametrize("html", ["<script>x</script>", "<nav>Home</nav>", "   "])
def test_html_without_text_says_so(html: str) -> None:
    with pytest.raises(ValueError, match=r"no text|empty"):
        outcomes("page.html", html)


def test_html_nested_deeply_is_read() -> None:
    assert one("page.html", "<div>" * 5000 + "deep" + "</div>" * 5000).text == "deep"


def test_word() -> None:
    cell = "<w:tc>{}</w:tc>".format
    table = "".join(
        f"<w:tr>{cell(paragraph(a))}{cell(paragraph(b))}</w:tr>"
        for a, b in [("Part", "Metres"), ("Tower", "31")]
    )
    numbered = paragraph("first").replace("<w:p>", "<w:p><w:pPr><w:numPr/></w:pPr>")
    body = (
        paragraph("On Towers", "T")
        + paragraph("Origins", "H1")
        + paragraph("The Salt Tower ").replace(
            "</w:p>", "<w:del><w:r><w:delText>not </w:delText></w:r></w:del>"
        )
        + "<w:r><w:t>stands.</w:t><w:br/><w:t>Still.</w:t></w:r></w:p>"
        + f"<w:sdt><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>"
        + paragraph("来源", "B2")
        + f"<w:tbl>{table}</w:tbl>{numbered}{numbered.replace('first', 'second')}"
    )
    core = (
        '<c:p xmlns:c="urn:c" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title> </dc:title><dc:creator>A. Quade</dc:creator></c:p>"
    )
    notes = f'<w:footnotes xmlns:w="{W}"><w:footnote w:type="separator">{paragraph("---")}</w:footnote>'
    notes += f"<w:footnote>{paragraph('A note.')}</w:footnote></w:footnotes>"
    document = one("t.docx", docx(body, parts={"docProps/core.xml": core, "word/footnotes.xml": notes}))
    assert document.text == (
        "On Towers\n\nOrigins\n\nThe Salt Tower stands.\nStill.\n\nIn a control.\n\n来源\n\n"
        "Part | Metres\nTower | 31\n\n- first\n- second\n\nA note."
    )
    assert (document.title, document.metadata) == ("On Towers", {"author": "A. Quade"})
    assert levels(document) == [(1, "On Towers"), (1, "Origins"), (2, "来源")]


BOMB = (
    '<!DOCTYPE w [<!ENTITY a "xxxxxxxxxx">]>' + f'<w:document xmlns:w="{W}"><w:body>&a;</w:body></w:document>'
)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"no archive", "not a Word document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 100, "encrypted, or an old .doc"),
        (zipped({"a.txt": "x"}), "word/document.xml is not in it"),
        (docx(paragraph("  ")), "no text"),
        (zipped({"word/document.xml": "<broken"}), "not valid XML"),
        (zipped({"word/document.xml": BOMB}), "declares entities"),
        (zipped({"word/document.xml": " " * (64 << 20)}), "unpack to more than"),
    ],
)
def test_word_that_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        outcomes("t.docx", data)


@pytest.mark.parametrize(
    ("name", "delimiter"), [("t.csv", ","), ("t.csv", ";"), ("t.csv", "\t"), ("t.tsv", "\t")]
)
def test_table_with_a_text_column_holds_records(name: str, delimiter: str) -> None:
    rows = [
        ["ID", "Title", "text", "year"],
        ["a", "Gull", '"The ""Gull""\nsailed."', "1801"],
        ["b", "", "Only text.", ""],
    ]
    rows += [["c", "No text", "", ""], ["d", "x", "y", "z", "more"]]
    first, second, third, fourth = outcomes(name, "\n".join(delimiter.join(row) for row in rows) + "\n\n")
    assert isinstance(first, Document)
    assert (first.id, first.title, first.text) == ("a", "Gull", 'The "Gull"\nsailed.')
    assert (first.metadata, first.has_record_id) == ({"year": "1801"}, True)
    assert isinstance(second, Document)
    assert (second.id, second.title, second.metadata) == ("b", "", {})
    assert isinstance(third, Problem)
    assert isinstance(fourth, Problem)
    assert (third.source, third.reason) == (f"{name}:5", "the field text: a string was wanted, it is missing")
    assert fourth.reason == "5 cells arrived, 4 columns have a name"


def test_table_without_a_text_column_is_one_document() -> None:
    document = one("港口.csv", "\ufeff港口,船数\n宁布雷尔,120\n\n伊斯马拉,,附注\n".encode())
    assert document.text == "港口: 宁布雷尔; 船数: 120\n\n港口: 伊斯马拉; column 3: 附注"
    assert (document.title, document.metadata) == ("港口", {"columns": ["港口", "船数"], "rows": 2})


def test_table_in_gb18030() -> None:
    assert "港口: 宁布雷尔" in one("t.csv", "港口,船数\n宁布雷尔,120\n".encode("gb18030")).text


@pytest.mark.parametrize(
    "value",
    [
        [{"id": "a", "text": "first"}, {"id": "b", "text": "second"}],
        {"version": 2, "data": [{"id": "a", "text": "first"}, {"id": "b", "text": "second"}]},
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_json_holds_records(value: object, encoding: str) -> None:
    found = outcomes("r.json", json.dumps(value).encode(encoding))
    assert [(item.id, item.text) for item in found if isinstance(item, Document)] == [
        ("a", "first"), ("b", "second")
    ]  # fmt: skip


def test_json_of_other_forms() -> None:
    assert one("r.json", '{"title": "T", "text": "alone", "year": 1}').metadata == {"year": 1}
    assert [type(item) for item in outcomes("r.json", '[{"text": "x"}, 3, {"no": "text"}]')] == [
        Document, Problem, Problem
    ]  # fmt: skip
    lines = outcomes("r.json", '{"id": "a", "text": "x"}\n{"id": "b", "text": "y"}\n')
    assert [item.id for item in lines if isinstance(item, Document)] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("{", "not valid JSON"),
        ("[]", "an empty one arrived"),
        ("3", "a number arrived"),
        ('{"a": 1}', "with the fields 'a'"),
        ("[" * 100_000, "nested too deeply|not valid JSON"),
        ('[{"text": "x", "n": NaN}]', "NaN"),
    ],
)
def test_json_that_holds_no_records_says_why(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        outcomes("r.json", text)


def test_json_lines_in_gb18030() -> None:
    lines = "".join(json.dumps({"id": n, "text": "盐塔很高"}, ensure_ascii=False) + "\n" for n in "ab")
    found = outcomes("r.jsonl", lines.encode("gb18030"))
    assert [item.text for item in found if isinstance(item, Document)] == ["盐塔很高", "盐塔很高"]


@pytest.mark.parametrize(("name", "package"), [("a.pdf", "pypdfium2"), ("a.html", "selectolax")])
def test_a_missing_parser_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    real: Callable[..., Any] = builtins.__import__

    def without(module: str, *rest: Any, **named: Any) -> Any:
        if module.partition(".")[0] == package:
            raise ModuleNotFoundError(f"No module named {module!r}")
        return real(module, *rest, **named)

    (tmp_path / name).write_bytes(b"x")
    (tmp_path / "b.txt").write_text("Read all the same.", encoding="utf-8")
    monkeypatch.setattr(builtins, "__import__", without)
    problem, document = read_documents([tmp_path])
    assert isinstance(problem, Problem)
    assert "pip install 'ytrag[docs]'" in problem.reason
    assert isinstance(document, Document)
