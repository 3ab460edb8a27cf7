"""What a document and a chunk are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["Chunk", "Document", "Heading", "LongDocument", "Problem"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in a document's text.

    Attributes
    ----------
    start
        Offset of its first character.
    level
        1 for the outermost.
    text
        What it says, without marks.
    """

    start: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    r"""One text with its origin.

    Attributes
    ----------
    id
        Identity within a knowledge base: the `id` of a record, else the path as given.
    title
        What a reader would call it; may be empty.
    text
        The whole text, NUL-free, with `\\n` line ends.
    source
        Where it came from (a path, or path and line for records), for messages.
    metadata
        Further JSON fields of a record.
    has_record_id
        True when `id` was given by the record itself; its chunks are then called `id`, or `id#0, id#1, ...`.
    headings
        The headings in the text, ascending by their offsets.
    pages
        Offset at which each page starts, ascending, page 1 first; empty where there are no pages.
    """

    id: str
    title: str
    text: str
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    has_record_id: bool = False
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()

    @property
    def n_characters(self) -> int:
        """How long the text is."""
        return len(self.text)

    def pieces(self) -> Iterator[str]:
        """Yield the text, as one piece."""
        yield self.text


@dataclass(frozen=True, slots=True)
class LongDocument:
    r"""A text that is too long to be held in memory, with its origin; other fields are those of `Document`.

    Attributes
    ----------
    pieces
        Yields the text piece by piece, NUL-free, with `\n` line ends; each call reads it anew. Raises
        DocumentError where that fails, or where the text is another than the first time.
    n_characters, n_bytes
        How long it is, in characters and in bytes of UTF-8.
    """

    id: str
    title: str
    pieces: Callable[[], Iterator[str]]
    n_characters: int
    n_bytes: int
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    has_record_id: bool = False
    headings: tuple[Heading, ...] = ()
    pages: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: the unit that is embedded, cited and counted.

    Attributes
    ----------
    id
        Stable over runs: the record's id (`id` or `id#n`), else a content hash and the document.
    document_id
        The document that it is part of.
    title
        The document's title.
    text
        The passage itself.
    start, end
        Offsets into the document's text, in characters, end exclusive.
    page
        The page that it starts on, from 1; None where the document has no pages.
    heading
        The headings that its start stands under, outermost first, joined by ` > `; may be empty. A first one
        that is the document's title is left out.
    """

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int
    page: int | None = None
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the input that was set aside, where and why; reported, never fatal."""

    source: str
    reason: str
