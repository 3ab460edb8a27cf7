"""Where a document's bytes come from: a file, or a member of an archive."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from ytrag_core.documents.text import path_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["LONG_BYTES", "STREAMED", "Source", "bytes_source", "file_source"]

LONG_BYTES = 8 << 20
"""A file of more bytes is read piece by piece, where its kind is one of `STREAMED`."""

STREAMED = frozenset({".csv", ".jsonl", ".markdown", ".md", ".ndjson", ".text", ".tsv", ".txt"})

_MOST_BYTES = 256 << 20
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read, wherever it lies.

    Attributes
    ----------
    name
        The path as given, with forward slashes; that of an archive and the path inside it.
    suffix
        What its kind is told by: lower case, with its dot; empty where it has none.
    open
        Opens its bytes, seekable; raises OSError where they cannot be read.
    measure
        Returns how many bytes there are; raises OSError likewise.
    """

    name: str
    suffix: str
    open: Callable[[], BinaryIO]
    measure: Callable[[], int]

    @property
    def stem(self) -> str:
        """The file's name without folders and suffix."""
        return PurePosixPath(self.name).stem

    def read(self) -> bytes:
        """Return all bytes; raises ValueError where they are too many, OSError where they cannot be read."""
        if (n_bytes := self.measure()) > _MOST_BYTES:
            raise ValueError(
                f"it has {n_bytes >> 20:,} MiB; a file of its kind is held in memory as a whole, up to "
                f"{_MOST_BYTES >> 20} MiB: take it apart, or give its text as .txt, .md, .jsonl or .csv"
            )
        with self.open() as stream:
            return stream.read()

    def is_long(self) -> bool:
        """Return whether it is to be read piece by piece; raises OSError where it cannot be read."""
        return self.measure() > LONG_BYTES

    def pieces(self) -> Iterator[bytes]:
        """Yield the bytes piece by piece; raises OSError where they cannot be read."""
        with self.open() as stream:
            while piece := stream.read(_PIECE):
                yield piece


def file_source(path: Path) -> Source:
    """Return a file as a source.

    Parameters
    ----------
    path
        A regular file.
    """
    name = path_name(path)
    return Source(
        name, PurePosixPath(name).suffix.lower(), lambda: path.open("rb"), lambda: path.stat().st_size
    )


def bytes_source(name: str, data: bytes) -> Source:
    """Return bytes in memory as a source.

    Parameters
    ----------
    name
        What to call it; its suffix tells its kind.
    data
        Its bytes.
    """
    return Source(name, PurePosixPath(name).suffix.lower(), lambda: io.BytesIO(data), lambda: len(data))
