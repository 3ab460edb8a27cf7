"""Where a document's bytes come from: a file, or a member of an archive."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from ytrag_core.documents.text import path_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["Source", "bytes_source", "file_source"]


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
    """

    name: str
    suffix: str
    open: Callable[[], BinaryIO]

    @property
    def stem(self) -> str:
        """The file's name without folders and suffix."""
        return PurePosixPath(self.name).stem

    def read(self) -> bytes:
        """Return all bytes; raises OSError where they cannot be read."""
        with self.open() as stream:
            return stream.read()


def file_source(path: Path) -> Source:
    """Return a file as a source.

    Parameters
    ----------
    path
        A regular file.
    """
    name = path_name(path)
    return Source(name, PurePosixPath(name).suffix.lower(), lambda: path.open("rb"))


def bytes_source(name: str, data: bytes) -> Source:
    """Return bytes in memory as a source.

    Parameters
    ----------
    name
        What to call it; its suffix tells its kind.
    data
        Its bytes.
    """
    return Source(name, PurePosixPath(name).suffix.lower(), lambda: io.BytesIO(data))
