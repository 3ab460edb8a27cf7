"""Texts that are too long to be held: measured once, then read anew piece by piece when needed."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ytrag_core.documents.decoding import decoded_pieces, settled_encoding
from ytrag_core.documents.headings import START
from ytrag_core.documents.model import LongDocument
from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from ytrag_core.documents.model import Heading
    from ytrag_core.documents.source import Source

__all__ = ["decoded", "long_document"]

_Pieces: TypeAlias = "Callable[[], Iterator[str]]"


@dataclass(slots=True)
class _Measure:
    """What a text is, told while its pieces pass by."""

    n_characters: int = 0
    n_bytes: int = 0
    checksum: int = 0
    is_blank: bool = True
    beginning: str = ""

    def watch(self, pieces: Iterable[str]) -> Iterator[str]:
        for piece in pieces:
            data = piece.encode()
            self.n_characters += len(piece)
            self.n_bytes += len(data)
            self.checksum = zlib.crc32(data, self.checksum)
            self.is_blank = self.is_blank and (not piece or piece.isspace())
            if len(self.beginning) < START:
                self.beginning = (self.beginning + piece)[:START]
            yield piece


def decoded(source: Source) -> _Pieces:
    """Return what reads a file as text; each call yields it piece by piece, as it stands in the file.

    Parameters
    ----------
    source
        The file; all of it is looked at for its encoding.

    Raises
    ------
    ValueError
        If it is empty, binary or of no known encoding; the message is the reason.
    OSError
        If it cannot be read.
    """
    encoding = settled_encoding(source.pieces)
    return lambda: decoded_pieces(source.pieces(), encoding)


def long_document(
    source: Source,
    pieces: _Pieces,
    *,
    headings: Callable[[Iterable[str]], tuple[Heading, ...]] | None = None,
    title: Callable[[str], str] | None = None,
    metadata: Callable[[], Mapping[str, Any]] = dict,
) -> LongDocument:
    """Return a file as a document that reads its text when asked for it.

    Parameters
    ----------
    source
        Where it comes from.
    pieces
        Yields the text, clean, each time from the beginning.
    headings
        Finds the headings in a text that comes in pieces.
    title
        Finds the title in the beginning of a text; else, and where it finds none, it is the file's name.
    metadata
        Asked for once the text has been read.

    Raises
    ------
    ValueError
        If the text is blank.
    OSError
        If it cannot be read.
    """
    measure = _Measure()
    found: tuple[Heading, ...] = ()
    if headings is not None:
        found = headings(measure.watch(pieces()))
    else:
        for _ in measure.watch(pieces()):
            pass
    if measure.is_blank:
        raise ValueError("the file is empty")
    return LongDocument(
        id=source.name,
        title=(title(measure.beginning) if title is not None else "") or source.stem,
        pieces=lambda: _same(pieces, measure),
        n_characters=measure.n_characters,
        n_bytes=measure.n_bytes,
        source=source.name,
        metadata=metadata(),
        headings=found,
    )


def _same(pieces: _Pieces, before: _Measure) -> Iterator[str]:
    """Yield a text anew, and make sure that it is what it was."""
    again = _Measure()
    changed = "it changed while it was read; index it again"
    try:
        yield from again.watch(pieces())
    except OSError as error:
        raise DocumentError(f"cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise DocumentError(changed) from error
    if (again.n_bytes, again.checksum) != (before.n_bytes, before.checksum):
        raise DocumentError(changed)
