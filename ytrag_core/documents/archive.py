"""Zip archives, unpacked within bounds: in memory or piece by piece, never to the disk."""

from __future__ import annotations

import stat
import zipfile
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, BinaryIO

from ytrag_core.documents.archive_member import DAMAGED, open_member
from ytrag_core.documents.decoding import chinese_encoding
from ytrag_core.documents.model import Problem
from ytrag_core.documents.source import LONG_BYTES, STREAMED, Source, bytes_source
from ytrag_core.documents.text import clean_text

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ArchiveLimits", "read_archive", "unpacked"]

_PIECE = 1 << 20
_UTF8_NAME = 0x800
_ENCRYPTED = 0x1


@dataclass(slots=True)
class ArchiveLimits:
    """What an archive may unpack to, together with the archives in it; an attack asks for far more.

    Attributes
    ----------
    depth
        Archives inside each other, the outermost counted.
    members
        Files in all of them.
    total
        Bytes unpacked from all of them.
    ratio
        Unpacked bytes for a packed one, where more than `free` bytes are unpacked.
    free
        Bytes of a member that any ratio is allowed for.
    largest
        Bytes of a member that is held in memory, whatever its ratio.
    """

    depth: int = 3
    members: int = 100_000
    total: int = 4 << 30
    ratio: int = 200
    free: int = 16 << 20
    largest: int = 1 << 30
    _members: int = field(default=0, init=False)
    _total: int = field(default=0, init=False)

    def count_member(self) -> None:
        """Count a file; raises ValueError where there are too many."""
        self._members += 1
        if self._members > self.members:
            raise ArchiveFullError(f"more than {self.members:,} files are in the archive; unpack it")

    def count_bytes(self, n: int) -> None:
        """Count unpacked bytes; raises ValueError where there are too many."""
        self._total += n
        if self._total > self.total:
            raise ArchiveFullError(f"it unpacks to more than {self.total >> 20:,} MiB; unpack it")


class ArchiveFullError(ValueError):
    """A bound on the whole archive is reached: nothing more is read from it."""


def read_archive(source: Source, limits: ArchiveLimits, depth: int = 1) -> Iterator[Source | Problem]:
    """Yield the files of a zip archive, those of archives in it too, each unpacked in its turn.

    A long text is unpacked whenever it is read; before it is yielded, it was unpacked once within the bounds.

    Parameters
    ----------
    source
        The archive.
    limits
        What it may unpack to; counts what is unpacked.
    depth
        1 for an archive that is a file.

    Yields
    ------
    Source or Problem
        A file under the archive's name and its own path; a problem for one that cannot be unpacked. Hidden
        files are passed over.

    Raises
    ------
    ValueError
        If it is no zip archive, or a bound is reached; the message is the reason.
    OSError
        If it cannot be read.
    """
    if depth > limits.depth:
        raise ValueError(f"archives in archives, more than {limits.depth} deep; unpack it")
    n_found = 0
    with source.open() as stream, _opened(stream) as archive:
        seen: set[str] = set()
        for member in archive.infolist():
            path = _member_path(member)
            if (
                member.is_dir()
                or not path
                or any(part.startswith((".", "__MACOSX")) for part in path.split("/"))
            ):
                continue
            n_found += 1
            limits.count_member()
            name = f"{source.name}/{path}"
            if name in seen:
                yield Problem(name, "the archive has two files of this name; the first counts")
                continue
            seen.add(name)
            yield from _member(source, archive, member, name, limits, depth)
    if not n_found:
        raise ValueError("the archive is empty")


def _member(
    source: Source,
    archive: zipfile.ZipFile,
    member: zipfile.ZipInfo,
    name: str,
    limits: ArchiveLimits,
    depth: int,
) -> Iterator[Source | Problem]:
    try:
        suffix = PurePosixPath(name).suffix.lower()
        if suffix in STREAMED and member.file_size > LONG_BYTES:  # no more than it states is ever unpacked
            size = sum(map(len, _pieces(archive, member, limits, limits.total)))
            yield Source(name, suffix, lambda: open_member(source, member), lambda: size)
            return
        inner = bytes_source(name, unpacked(archive, member, limits))
        if inner.suffix == ".zip":
            yield from read_archive(inner, limits, depth + 1)
        else:
            yield inner
    except ArchiveFullError:
        raise
    except (ValueError, OSError) as error:
        yield Problem(name, str(error))


def unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo, limits: ArchiveLimits) -> bytes:
    """Return the bytes of a member.

    Parameters
    ----------
    archive, member
        Where it lies.
    limits
        What may be unpacked. Bytes are counted as they come: sizes that an archive states may be lies.

    Raises
    ------
    ValueError
        If it is encrypted, a link, damaged or beyond a bound; the message is the reason.
    """
    return b"".join(_pieces(archive, member, limits, limits.largest))


def _pieces(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, limits: ArchiveLimits, largest: int
) -> Iterator[bytes]:
    if member.flag_bits & _ENCRYPTED:
        raise ValueError("encrypted; unpack the archive with its password")
    if stat.S_ISLNK(member.external_attr >> 16):
        raise ValueError("a symbolic link in an archive is not followed")
    bound = min(largest, max(limits.free, limits.ratio * member.compress_size))
    size = 0
    try:
        with archive.open(member) as stream:
            while piece := stream.read(_PIECE):
                size += len(piece)
                limits.count_bytes(len(piece))
                if size > bound:
                    raise ValueError(
                        f"{member.compress_size:,} bytes unpack to more than {bound >> 20:,} MiB; unpack it"
                    )
                yield piece
    except DAMAGED as error:
        raise ValueError(f"cannot be unpacked: {error or 'the archive is cut short'}") from error


def _opened(stream: BinaryIO) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(stream)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise ValueError(f"not a zip archive that can be read: {error}") from error


def _member_path(member: zipfile.ZipInfo) -> str:
    """Return a member's path as a label: never absolute, never upwards; it is not used to open anything."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME:
        raw = name.encode("cp437", "replace")
        try:
            name = raw.decode("utf-8")
        except UnicodeDecodeError:
            name = raw.decode(chinese_encoding(raw) or "cp437")
    parts = clean_text(name).replace("\\", "/").split("/")
    return "/".join(part for part in parts if part.strip() not in {"", ".", ".."})
