"""Documents cut into passages of a bounded number of tokens, at the best border within reach."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from tokenizers import Tokenizer

from ytrag_core.documents.headings import Breadcrumbs, page_at
from ytrag_core.documents.model import Chunk, Document, LongDocument
from ytrag_core.documents.sentences import sentence_ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["chunk_document", "cut_passages", "whole_chunk"]

_BLOCK = 100_000
_CHARS_PER_TOKEN = 8
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_HEADING = re.compile(
    r"""
    ^ (?: \#{1,6} [^\S\n]+ \S [^\n]*
        | (={2,6}) [^\n=]+ \1 [^\S\n]*
        | [^\S\n]* 第 [〇零一二三四五六七八九十百千\d]{1,7} [回章节卷篇部编] [^\n。，；]{0,40}
        | [^\S\n]* (?:Chapter|CHAPTER|Part|PART|Book|BOOK|STAVE) [ ] (?:\d+|[IVXLC]+)\b [^\n]{0,60}
      ) $ \s*
    """,
    re.MULTILINE | re.VERBOSE,
)
_LINE = re.compile(r"\n\s*")
_CLAUSE = re.compile(r"[,;:](?=\s)|[，：、]|[)\]](?=\s)")
_SPACE = re.compile(r"\s+")
_JOINERS = frozenset("\u200d\ufe0e\ufe0f")

_Span: TypeAlias = tuple[int, str]
"""Where a passage starts, and what it says."""


def chunk_document(
    document: Document | LongDocument,
    tokenizer: Tokenizer,
    *,
    max_tokens: int = 240,
    overlap: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Chunk]:
    """Cut a document into passages, in order.

    Parameters
    ----------
    document
        What to cut.
    tokenizer
        The encoder's; its padding and truncation do not matter here.
    max_tokens
        Upper bound of a passage, special tokens not counted, at least 8. Words that the tokenizer cannot
        take apart count by their length.
    overlap
        Up to so many tokens of the sentences at the end of a passage open the next one too, in
        [0, `max_tokens` / 2]. Only whole sentences, paragraphs or lines are repeated, none of them across a
        heading, so a passage of one long sentence is repeated in none.
    progress
        Told how many characters of how many are done, after each hundred thousand or so.

    Returns
    -------
    list of Chunk
        Only white space of the document is in no passage. Empty for a blank document.

    Notes
    -----
    Passages do not overlap across the borders between blocks of some hundred thousand characters.
    From a passage's start, the highest kind of border in the second half of what fits is taken, and among
    equals the last: heading, blank line, sentence, line, clause, word. The tokens of a block of text are
    counted once, so the time is linear in the text.
    """
    return list(cut_passages(document, tokenizer, max_tokens=max_tokens, overlap=overlap, progress=progress))


def cut_passages(
    document: Document | LongDocument,
    tokenizer: Tokenizer,
    *,
    max_tokens: int = 240,
    overlap: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Chunk]:
    """Yield the passages of `chunk_document` one by one: of a long text, no more than a stretch is held.

    Parameters
    ----------
    document, tokenizer, max_tokens, overlap, progress
        As for `chunk_document`.
    """
    if max_tokens < 8:
        raise ValueError(f"max_tokens is {max_tokens}; at least 8 was wanted")
    if not 0 <= overlap <= max_tokens // 2:
        raise ValueError(f"overlap is {overlap}; from 0 to {max_tokens // 2} was wanted, half of max_tokens")
    return _named(document, _spans(document, _counter(tokenizer), (max_tokens, overlap), progress))


def _spans(
    document: Document | LongDocument,
    counter: Tokenizer,
    sizes: tuple[int, int],
    progress: Callable[[int, int], None] | None,
) -> Iterator[_Span]:
    headings = [heading.start for heading in document.headings]
    for offset, block in _blocks(document.pieces()):
        end = offset + len(block)
        known = headings[bisect_left(headings, offset) : bisect_left(headings, end)]
        for first, last in _cut(block, [at - offset for at in known], counter, sizes):
            yield offset + first, block[first:last]
        if progress is not None:
            progress(end, document.n_characters)


def whole_chunk(document: Document) -> Chunk:
    """Return a document as one passage, whatever its length, called by the document's own id.

    Parameters
    ----------
    document
        Typically a record of which the passages were cut by someone else.
    """
    return Chunk(document.id, document.id, document.title, document.text, 0, len(document.text))


@lru_cache(maxsize=4)
def _counter(tokenizer: Tokenizer) -> Tokenizer:
    copy = Tokenizer.from_str(tokenizer.to_str())
    copy.no_padding()
    copy.no_truncation()
    return copy


def _blocks(pieces: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield stretches of about `_BLOCK` characters that end where a paragraph, line or word does."""
    offset, text, start = 0, "", 0
    for piece in pieces:
        offset, text, start = offset + start, text[start:] + piece, 0
        while len(text) - start > 2 * _BLOCK:
            earliest = start + _BLOCK
            end = earliest + _BLOCK
            for border in (_BLANK_LINE, _LINE, _SPACE):
                match = border.search(text, earliest, end)
                if match is not None:
                    end = match.end()
                    break
            yield offset + start, text[start:end]
            start = end
    yield offset + start, text[start:]


def _cut(
    block: str, headings: list[int], counter: Tokenizer, sizes: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    max_tokens, overlap = sizes
    token_starts = [first for first, _ in counter.encode(block, add_special_tokens=False).offsets]
    levels = _borders(block, headings)
    openings = _openings(block, levels) if overlap else []
    position, reached = _skip_space(block, 0), 0
    while position < len(block):
        token = bisect_left(token_starts, position)
        last = token + max_tokens
        limit = token_starts[last] if last < len(token_starts) else len(block)
        limit = min(limit, position + _CHARS_PER_TOKEN * max_tokens)
        half_token = token + max_tokens // 2
        half = token_starts[half_token] if half_token < last and half_token < len(token_starts) else limit
        half = min(half, position + _CHARS_PER_TOKEN * max_tokens // 2)
        cut = len(block) if limit >= len(block) else _best_border(block, levels, position, half, limit)
        if cut <= reached:  # all of it was in the passage before
            position = _skip_space(block, reached)
            continue
        trimmed = block[position:cut].rstrip()
        yield position, position + len(trimmed)
        begin, reached = position, cut
        position = _skip_space(block, cut)
        if overlap and position < len(block) and position not in levels[0]:
            earliest = token_starts[max(bisect_left(token_starts, cut) - overlap, 0)]
            at = bisect_left(openings, max(earliest, begin + 1))
            if at < len(openings) and openings[at] < position:
                position = openings[at]


def _borders(block: str, known: list[int]) -> tuple[list[int], ...]:
    """Return the offsets at which a passage may end, by kind, highest first; each list is ascending."""
    headings = list(_HEADING.finditer(block))
    behind_heading = {match.end() for match in headings}
    for start in known:
        line_end = block.find("\n", start)
        behind_heading.add(_skip_space(block, len(block) if line_end < 0 else line_end))
    ends = [[match.end() for match in pattern.finditer(block)] for pattern in (_BLANK_LINE, _LINE)]
    ends.insert(1, sentence_ends(block))
    return (
        sorted({*known, *(match.start() for match in headings)}),
        *([offset for offset in offsets if offset not in behind_heading] for offsets in ends),
        [match.end() for match in _CLAUSE.finditer(block)],
        [match.end() for match in _SPACE.finditer(block)],
    )


def _openings(block: str, levels: tuple[list[int], ...]) -> list[int]:
    """Return where sentences, paragraphs, lines and headings begin, ascending."""
    ends = {offset for offsets in levels[1:4] for offset in offsets}
    return sorted({*levels[0], *(_skip_space(block, offset) for offset in ends)})


def _best_border(block: str, levels: tuple[list[int], ...], start: int, half: int, limit: int) -> int:
    for earliest, borders in ((half, levels), (start, levels[:4]), (start, levels[4:])):
        for offsets in borders:
            at = bisect_right(offsets, limit) - 1
            if at >= 0 and offsets[at] > earliest:
                return offsets[at]
            if _only_space_between(block, limit, offsets, at + 1):
                return offsets[at + 1]
    cut = limit
    while cut > start + 1 and (unicodedata.combining(block[cut]) or {block[cut], block[cut - 1]} & _JOINERS):
        cut -= 1
    return cut if cut > start + 1 else limit


def _only_space_between(block: str, limit: int, offsets: list[int], at: int) -> bool:
    """Tell whether the next border lies behind the limit but only white space is in between."""
    return at < len(offsets) and offsets[at] - limit < 100 and block[limit : offsets[at]].isspace()


def _skip_space(block: str, position: int) -> int:
    match = _SPACE.match(block, position)
    return match.end() if match else position


def _named(document: Document | LongDocument, spans: Iterator[_Span]) -> Iterator[Chunk]:
    prefix = hashlib.sha256(document.id.encode()).hexdigest()[:8]
    repeats: dict[bytes, int] = {}
    headings = document.headings
    # The title stands beside every passage already.
    is_titled = bool(headings) and headings[0].text == document.title
    above = Breadcrumbs(headings[is_titled:])
    first = list(islice(spans, 2))
    for number, (start, text) in enumerate(chain(first, spans)):
        if document.has_record_id:
            name = document.id if len(first) == 1 else f"{document.id}#{number}"
        else:
            digest = hashlib.sha256(text.encode()).digest()[:6]
            seen = repeats[digest] = repeats.get(digest, 0) + 1
            name = f"{prefix}-{digest.hex()}" if seen == 1 else f"{prefix}-{digest.hex()}-{seen}"
        page, end = page_at(document.pages, start), start + len(text)
        yield Chunk(name, document.id, document.title, text, start, end, page, above.at(start))
