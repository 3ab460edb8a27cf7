"""HTML: the main text with its headings, lists and tables; navigation, scripts and the like left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.builder import TextBuilder, joined_lines
from ytrag_core.documents.decoding import decode
from ytrag_core.documents.extras import MissingParserError
from ytrag_core.documents.model import Document, Heading, Problem
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ytrag_core.documents.source import Source

__all__ = ["read_html"]

_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""")
_NO_TEXT = (
    "script, style, noscript, template, svg, math annotation, iframe, object, canvas, head, nav, footer,"
    " aside, form, button, select, dialog, [hidden], [aria-hidden=true], [role=navigation], [role=banner],"
    " [role=contentinfo], [role=search], [role=complementary], [role=dialog]"
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_FURNITURE = _words("""
    nav navbar navigation menu sidebar footer breadcrumb breadcrumbs toc cookie cookies cookie-banner advert
    advertisement ads share sharing social social-share comments related pagination pager skip-link headerlink
    anchor-link linenos linenodiv lineno gutter sr-only visually-hidden print-hide nav-chapters nav-wrapper
    sidebar-scrollbox menu-bar mw-editsection mw-jump-link navbox reflist catlinks
""")
_BLOCKS = _words("""
    address article blockquote body caption center dd details div dl dt fieldset figcaption figure header
    hgroup hr html li main ol p pre section summary table tbody td tfoot th thead tr ul h1 h2 h3 h4 h5 h6
""")
_LINES = frozenset({"li", "dt", "dd", "tr"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_MAIN_SHARE = 0.3
_LINKS_SHARE = 0.8
_FEWEST_LINKS = 6
_NEAR = 6
_MOST_HEADERS = 50


def read_html(source: Source) -> Iterator[Document | Problem]:
    """Yield the document of an HTML file.

    Parameters
    ----------
    source
        HTML of any age; what it says about its encoding is considered.

    Raises
    ------
    ValueError
        If it is empty or binary, or no text is in it; the message is the reason.
    OSError
        If it cannot be read.
    """
    try:
        from selectolax.lexbor import LexborHTMLParser
    except ImportError as error:
        raise MissingParserError("HTML", "selectolax") from error
    data = source.read()
    declared = _CHARSET.search(data[:4096])
    text = clean_text(decode(data, declared[1].decode("ascii") if declared else None))
    del data
    tree = LexborHTMLParser(text)
    title, metadata = _head(tree)
    body = tree.body
    if body is None:
        raise ValueError("no text is in it")
    for node in body.css(_NO_TEXT):
        node.decompose()
    _drop_furniture(body)
    main = _main(body)
    builder = TextBuilder()
    _write(main, builder)
    content = builder.text()
    if not content:
        raise ValueError("no text is in it: what it shows may be made by scripts; save the page as shown")
    title = _title(title, builder.headings) or source.stem
    yield Document(source.name, title, content, source.name, metadata, headings=tuple(builder.headings))


def _title(told: str, headings: Sequence[Heading]) -> str:
    """Return the only top heading, else what the page's title says; the site's name is left out of it."""
    tops = [heading.text for heading in headings if heading.level == 1]
    if len(tops) == 1:
        return tops[0]
    if headings and headings[0].text in told:
        return headings[0].text
    return told or (headings[0].text if headings else "")


def _head(tree: Any) -> tuple[str, dict[str, Any]]:
    """Return the page's title, which may be empty, and what it says of itself."""
    node = tree.css_first("head title") or tree.css_first("title")
    title = "" if node is None else joined_lines(node.text()).strip()
    metadata: dict[str, Any] = {}
    for entry in tree.css("meta[name][content]"):
        name = (entry.attributes.get("name") or "").lower()
        content = joined_lines(entry.attributes.get("content") or "").strip()
        if name in {"author", "description", "keywords", "date"} and content:
            metadata.setdefault(name, content)
    root = tree.css_first("html")
    language = None if root is None else root.attributes.get("lang")
    if language:
        metadata["language"] = language
    return title, metadata


def _drop_furniture(body: Any) -> None:
    """Remove what its class or id names as furniture, and the page's own header."""
    for node in body.css("[class], [id]"):
        attributes = node.attributes
        names = {*(attributes.get("class") or "").lower().split(), (attributes.get("id") or "").lower()}
        if names & _FURNITURE and node.tag not in {"body", "main", "article"} and not _HEADINGS.get(node.tag):
            node.decompose()
    for node in body.css("header")[:_MOST_HEADERS]:
        if not _inside(node, {"main", "article"}) and node.css_first("main, article") is None:
            node.decompose()


def _inside(node: Any, tags: set[str]) -> bool:
    while node is not None:
        if node.tag in tags:
            return True
        node = node.parent
    return False


def _main(body: Any) -> Any:
    """Return the element with the main text: what is marked as such, unless most of the text is elsewhere."""
    whole = len(body.text())
    candidates = body.css("main, [role=main], article")
    best = max(candidates, key=lambda node: len(node.text()), default=None)
    if best is not None and len(best.text()) >= _MAIN_SHARE * whole:
        return best
    _drop_link_lists(body)
    return body


def _drop_link_lists(body: Any) -> None:
    """Remove what is little but links: most navigation that is not marked as such."""
    holders: dict[int, Any] = {}
    linked: dict[int, list[int]] = {}
    for link in body.css("a"):
        size, node = len(link.text()), link.parent
        for _ in range(_NEAR):
            if node is None or node.tag == "body":
                break
            if node.tag in {"ul", "ol", "div"}:
                holders[node.mem_id] = node
                linked.setdefault(node.mem_id, []).append(size)
            node = node.parent
    for identity, sizes in linked.items():
        if len(sizes) >= _FEWEST_LINKS and sum(sizes) >= _LINKS_SHARE * len(holders[identity].text().strip()):
            for child in list(holders[identity].iter(include_text=True)):
                child.remove()


def _write(root: Any, builder: TextBuilder) -> None:
    """Walk the elements without recursion: pages may be nested deeper than Python calls may be."""
    waiting: list[tuple[Any, bool]] = [(root, False)]
    while waiting:
        node, is_left = waiting.pop()
        tag = node.tag
        if is_left:
            _break(tag, builder)
            continue
        if tag == "-text":
            builder.inline(node.text_content or "")
            continue
        level = _HEADINGS.get(tag)
        if level is not None:
            builder.heading(level, node.text())
            continue
        if tag == "pre":
            _preformatted(node, builder)
            continue
        if tag == "table" and node.css_first("table table, h1, h2, h3, pre, li") is None:
            _table(node, builder)
            continue
        if tag == "br":
            builder.line()
            continue
        if tag != "li":
            _break(tag, builder)
        else:
            builder.item()
        waiting.append((node, True))
        waiting.extend((child, False) for child in reversed(list(node.iter(include_text=True))))


def _break(tag: str, builder: TextBuilder) -> None:
    if tag in _LINES:
        builder.line()
    elif tag in _BLOCKS:
        builder.paragraph()


def _preformatted(node: Any, builder: TextBuilder) -> None:
    builder.paragraph()
    lines = [line.rstrip() for line in node.text().split("\n")]
    builder.add("\n".join(lines).strip("\n"))
    builder.paragraph()


def _table(node: Any, builder: TextBuilder) -> None:
    """Write a table of data: a line for each row, bars between the cells."""
    builder.paragraph()
    caption = node.css_first("caption")
    if caption is not None:
        builder.inline(caption.text())
        builder.line()
    for row in node.css("tr"):
        cells = [joined_lines(cell.text(separator=" ")).strip() for cell in row.css("th, td")]
        if any(cells):
            builder.line()
            builder.add(" | ".join(cells))
    builder.paragraph()
