"""PDF: reading order, hyphens, running heads, headings, pages; scanned and encrypted ones are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.made_files import Put, column, pdf
from ytrag_core.documents.model import Document, Problem
from ytrag_core.documents.pdf import read_pdf
from ytrag_core.documents.source import bytes_source, file_source

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("pypdfium2", reason="needs the extra docs")

LEFT = [
    "The harbour of Nimbrel was built by",
    "Rufina Stell in the year 1742, and its",
    "quay was made of grey salt stone that",
    "came down the river on flat barges in",
    "every spring when the water was high",
    "enough to carry them past the mills.",
]
RIGHT = [
    "A second quay followed much later, as",
    "trade with the islands grew and ships",
    "needed deeper water than the old one",
    "could offer them at low tide, which is",
    "why the town council asked the archi-",
    "tect to move it to the eastern shore.",
]


def read(data: bytes, name: str = "paper.pdf") -> Document:
    (document,) = read_pdf(bytes_source(name, data))
    assert isinstance(document, Document)
    return document


def test_lines_become_paragraphs_and_hyphens_go() -> None:
    lines = ["A well-known con-", "tractor built the well-", "known bridge of stone."]
    document = read(pdf([column([*LEFT[:5], *lines], 50, 700)]))
    assert document.text.endswith("A well-known contractor built the well-known bridge of stone.")
    assert "\n" not in document.text


@pytest.mark.parametrize("by_rows", [False, True])
def test_two_columns_are_read_one_after_the_other(by_rows: bool) -> None:
    left, right = column(LEFT, 50, 700), column(RIGHT, 310, 700)
    both = [put for row in zip(left, right, strict=True) for put in row] if by_rows else [*right, *left]
    title = [Put(50, 760, "Harbours of the Eastern Shore and their Quays in Four Centuries", 16)]
    document = read(pdf([title + both]))
    assert document.title == title[0].text
    body = " ".join([*LEFT, *RIGHT]).replace("archi- tect", "architect")
    assert " ".join(document.text.split()) == f"{title[0].text} {body}"
    assert [heading.text for heading in document.headings] == [title[0].text]


def test_tables_are_rows_and_no_columns() -> None:
    cells = [
        ("Port", "Ships"),
        ("Nimbrel", "120"),
        ("Ismarra", "75"),
        ("Quell", "12"),
        ("Orrin", "8"),
        ("All", "215"),
    ]
    puts = [
        Put(x, 700 - 14 * n, text)
        for n, row in enumerate(cells)
        for x, text in zip((50, 300), row, strict=True)
    ]
    assert read(pdf([puts])).text == "\n".join("\t".join(row) for row in cells)


def test_running_heads_and_page_numbers_go() -> None:
    pages = [
        [Put(50, 800, "Annals of Harbours, vol. 3"), *column([f"Page text {word}, which is kept."], 50, 700),
         Put(290, 40, f"- {number} -")]
        for number, word in enumerate(["one", "two", "three", "four"], 17)
    ]  # fmt: skip
    document = read(pdf(pages))
    assert document.text.split("\n\n") == [
        f"Page text {word}, which is kept." for word in ("one", "two", "three", "four")
    ]
    assert [document.text[at : at + 13] for at in document.pages] == [
        "Page text one", "Page text two", "Page text thr", "Page text fou"
    ]  # fmt: skip
    assert document.metadata["pages"] == 4


def test_a_paragraph_goes_on_over_the_page() -> None:
    document = read(pdf([column(LEFT[:4], 50, 100), column(LEFT[4:], 50, 700)]))
    assert document.text == " ".join(LEFT)
    assert document.text[document.pages[1] :].startswith("every spring")


def test_chinese_lines_are_joined_without_spaces() -> None:
    lines = [
        "盐塔由鲁菲娜·斯特尔设计，建于一七四二年，",
        "塔身用灰色的盐石砌成，石料每年春天从上游",
        "运来。",
    ]
    puts = [Put(70, 700, lines[0]), *column(lines[1:], 50, 686, pitch=14)]
    assert read(pdf([puts])).text == "".join(lines)


def test_bookmarks_are_headings() -> None:
    data = pdf(
        [[Put(50, 700, "First Part", bold=True), *column(LEFT, 50, 680)],
         [Put(50, 700, "Second Part", bold=True), *column(RIGHT, 50, 680)]],
        bookmarks=[(0, "First Part"), (1, "Second Part")], title="On Harbours",
    )  # fmt: skip
    document = read(data)
    assert document.title == "On Harbours"
    assert [(heading.level, heading.text) for heading in document.headings] == [
        (1, "First Part"), (1, "Second Part")
    ]  # fmt: skip
    assert all(document.text.startswith(heading.text, heading.start) for heading in document.headings)


def test_numbered_and_bold_lines_are_headings() -> None:
    puts = [Put(50, 720, "1. Introduction", bold=True), *column(LEFT, 50, 700)]
    puts += [Put(50, 600, "1.1. Old Quays", bold=True), *column(RIGHT, 50, 580)]
    assert [(heading.level, heading.text) for heading in read(pdf([puts])).headings] == [
        (1, "1. Introduction"), (2, "1.1. Old Quays")
    ]  # fmt: skip


def test_a_page_without_text_is_told_and_the_rest_is_read() -> None:
    document, problem = read_pdf(bytes_source("mixed.pdf", pdf([column(LEFT, 50, 700), [], []])))
    assert isinstance(document, Document)
    assert len(document.pages) == 3
    assert isinstance(problem, Problem)
    assert "no text layer on 2 of 3 pages (2, 3)" in problem.reason


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"no PDF at all", "not a PDF"),
        (pdf([column(LEFT, 50, 700)])[:400], "not a PDF|no text"),
        (pdf([[], []]), "no text layer on any of its 2 pages"),
        (pdf([column(LEFT, 50, 700)], encrypted=True), "encrypted"),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(read_pdf(bytes_source("broken.pdf", data)))


def test_real_papers(shared_data: Path) -> None:
    (english,) = read_pdf(file_source(shared_data / "docs/en/coffee_mortality_nutrients_2021.pdf"))
    (chinese,) = read_pdf(file_source(shared_data / "docs/zh/zhoukou_statistics_2023.pdf"))
    assert isinstance(english, Document)
    assert isinstance(chinese, Document)
    assert english.title.startswith("Coffee Consumption and All-Cause, Cardiovascular, and Cancer Mortality")
    assert len(english.pages) == len(chinese.pages) == 13
    assert "institutional affiliations" in english.text
    assert "2021, 13, 1241 3 of 13" not in " ".join(english.text.split())
    assert {"2. Materials and Methods", "2.1. Study Design and Population"} <= {
        h.text for h in english.headings
    }
    assert chinese.title == "2023 年周口市国民经济和社会发展统计公报"
    assert "全市上下以深入开展主题教育强动力" in chinese.text
    assert "小麦粉\t吨\t2296205\t8.4" in chinese.text
    assert "- 3 -" not in chinese.text
    assert any(heading.text.startswith("三、工业和建筑业") for heading in chinese.headings)
