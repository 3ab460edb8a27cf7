"""What a document and a chunk are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Chunk", "Document", "Problem"]


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
    """

    id: str
    title: str
    text: str
    source: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    has_record_id: bool = False


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
    """

    id: str
    document_id: str
    title: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Problem:
    """Something in the input that was set aside, where and why; reported, never fatal."""

    source: str
    reason: str
