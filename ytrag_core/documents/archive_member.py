"""A member of a zip archive, opened on its own: it can be read when the archive was left long ago."""

from __future__ import annotations

import io
import zipfile
import zlib
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from typing import IO

    from ytrag_core.documents.source import Source

__all__ = ["DAMAGED", "open_member"]

DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises where a member cannot be unpacked."""

_BUFFER = 1 << 16


def open_member(source: Source, member: zipfile.ZipInfo) -> BinaryIO:
    """Open a member of an archive; the archive stays open as long as it is.

    Parameters
    ----------
    source
        The archive.
    member
        What was found in it.

    Raises
    ------
    OSError
        If the archive cannot be read, or is another by now; reading raises it likewise.
    """
    opened = ExitStack()
    try:
        archive = opened.enter_context(zipfile.ZipFile(opened.enter_context(source.open())))
        stream = opened.enter_context(archive.open(member))
    except BaseException as error:
        opened.close()
        if isinstance(error, DAMAGED):
            raise OSError(f"the archive changed while it was read: {error}") from error
        raise
    return io.BufferedReader(_Member(stream, opened), _BUFFER)


class _Member(io.RawIOBase):
    """The bytes of a member; closing it closes the archive too."""

    def __init__(self, stream: IO[bytes], opened: ExitStack) -> None:
        super().__init__()
        self._stream = stream
        self._opened = opened

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer)
        try:
            data = self._stream.read(len(view))
        except DAMAGED as error:
            raise OSError(f"the archive changed while it was read: {error}") from error
        view[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._stream.seek(offset, whence)

    def close(self) -> None:
        if not self.closed:
            self._opened.close()
        super().close()
