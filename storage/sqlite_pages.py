"""Rows of a damaged SQLite file, read page by page without SQLite: one bad page costs no other.

After the file format that SQLite documents (https://sqlite.org/fileformat2.html). Only what is needed here:
UTF-8, B-tree pages of tables and of tables without rowid, overflow chains, the list of free pages, and the
pages of a write-ahead log that were committed.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["BadPageError", "Page", "Pages", "Row"]

_MAGIC = b"SQLite format 3\x00"
_PAGE = 4096
_INTERIOR_INDEX, _INTERIOR_TABLE, _LEAF_INDEX, _LEAF_TABLE = 2, 5, 10, 13
_INTERIOR = (_INTERIOR_INDEX, _INTERIOR_TABLE)
_KINDS = (*_INTERIOR, _LEAF_INDEX, _LEAF_TABLE)
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER, _FRAME_HEADER = 32, 24
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_REAL = 7
_FIRST_TEXT = 12

Row = tuple[int, list[Any]]
"""A rowid, 0 in a table without one, and the values of the columns as they are stored."""


class BadPageError(ValueError):
    """A page, or a row on it, is not what SQLite writes."""


@dataclass(frozen=True, slots=True)
class Page:
    """What was read of one B-tree page.

    Attributes
    ----------
    is_table
        Whether its rows have rowids.
    children
        Pages below it.
    rows
        Its rows that can be read.
    n_bad
        How many cannot.
    """

    is_table: bool
    children: list[int]
    rows: list[Row]
    n_bad: int


class Pages:
    """The pages of a file, those of its log over them.

    Parameters
    ----------
    path
        The database; `<path>-wal` is its log.
    """

    def __init__(self, path: Path) -> None:
        self._content = _mapped(path)
        head = self._content[:100]
        self.size = _PAGE
        reserved = 0
        if head[:16] == _MAGIC:
            size = int.from_bytes(head[16:18], "big")
            size = 65536 if size == 1 else size
            if 512 <= size <= 65536 and size & (size - 1) == 0 and head[20] < size - 480:
                self.size, reserved = size, head[20]
        self._usable = self.size - reserved
        self._over = _committed(path.with_name(f"{path.name}-wal"), self.size)
        self.n_pages = max([-(-len(self._content) // self.size), *self._over])

    def content(self, number: int) -> bytes:
        """Return the bytes of a page, numbered from 1; a truncated last page is filled up with zeros."""
        if not 1 <= number <= self.n_pages:
            raise BadPageError(f"there is no page {number}")
        if number in self._over:
            return self._over[number]
        start = (number - 1) * self.size
        return self._content[start : start + self.size].ljust(self.size, b"\0")

    def free(self) -> set[int]:
        """Return the pages that hold nothing, as far as their list can be read."""
        found: set[int] = set()
        trunk = int.from_bytes(self.content(1)[32:36], "big") if self.n_pages else 0
        while 1 <= trunk <= self.n_pages and trunk not in found:
            found.add(trunk)
            page = self.content(trunk)
            following, n_leaves = struct.unpack_from(">II", page)
            n_leaves = min(n_leaves, self._usable // 4 - 2)
            found.update(struct.unpack_from(f">{n_leaves}I", page, 8))
            trunk = following
        return found

    def tree(self, root: int, out_seen: set[int]) -> Iterator[Page]:
        """Yield the pages of a tree that can be reached from its root; bad ones are passed over.

        Parameters
        ----------
        root
            Its root page.
        out_seen
            Pages that were visited; those in it are not visited again.
        """
        waiting = [root]
        while waiting:
            number = waiting.pop()
            if number in out_seen:
                continue
            out_seen.add(number)
            try:
                page = self.page(number)
            except BadPageError:
                out_seen.discard(number)
                continue
            yield page
            waiting += reversed(page.children)

    def page(self, number: int) -> Page:
        """Read a B-tree page.

        Raises
        ------
        BadPageError
            If it is none.
        """
        content = self.content(number)
        base = 100 if number == 1 else 0
        kind = content[base]
        if kind not in _KINDS:
            raise BadPageError(f"page {number} is of no known kind")
        n_cells = int.from_bytes(content[base + 3 : base + 5], "big")
        start = base + (12 if kind in _INTERIOR else 8)
        if start + 2 * n_cells > self._usable:
            raise BadPageError(f"page {number} cannot hold {n_cells} cells")
        places = struct.unpack_from(f">{n_cells}H", content, start)
        children: list[int] = []
        rows: list[Row] = []
        n_bad = 0
        for place in places:
            try:
                row = self._cell(content, place, kind, children)
                if row is not None:
                    rows.append(row)
            except (BadPageError, IndexError, struct.error, UnicodeDecodeError):
                n_bad += 1
        if kind in _INTERIOR:
            children.append(int.from_bytes(content[base + 8 : base + 12], "big"))
        return Page(kind in (_INTERIOR_TABLE, _LEAF_TABLE), children, rows, n_bad)

    def _cell(self, content: bytes, at: int, kind: int, out_children: list[int]) -> Row | None:
        if kind in _INTERIOR:
            out_children.append(int.from_bytes(content[at : at + 4], "big"))
            at += 4
            if kind == _INTERIOR_TABLE:
                return None
        n_payload, at = _varint(content, at)
        rowid = 0
        if kind == _LEAF_TABLE:
            rowid, at = _varint(content, at)
            rowid -= (rowid >> 63) << 64
        return rowid, _values(self._payload(content, at, n_payload, is_table=kind == _LEAF_TABLE))

    def _payload(self, content: bytes, at: int, n_payload: int, *, is_table: bool) -> bytes:
        usable = self._usable
        least = (usable - 12) * 32 // 255 - 23
        most = usable - 35 if is_table else (usable - 12) * 64 // 255 - 23
        if n_payload > self.n_pages * self.size:
            raise BadPageError("a row is longer than the file")
        if n_payload <= most:
            here = n_payload
        else:
            here = least + (n_payload - least) % (usable - 4)
            here = here if here <= most else least
        if at + here > usable:
            raise BadPageError("a row leads out of its page")
        parts = [content[at : at + here]]
        left = n_payload - here
        following = int.from_bytes(content[at + here : at + here + 4], "big") if left else 0
        while left > 0:
            page = self.content(following)
            parts.append(page[4 : 4 + min(left, usable - 4)])
            left -= usable - 4
            following = int.from_bytes(page[:4], "big")
        return b"".join(parts)


def _mapped(path: Path) -> mmap.mmap | bytes:
    if not path.is_file() or not path.stat().st_size:
        return b""
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for turn in range(8):
        byte = content[at + turn]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + turn + 1
    return value << 8 | content[at + 8], at + 9


def _values(payload: bytes) -> list[Any]:
    n_header, at = _varint(payload, 0)
    if n_header > len(payload):
        raise BadPageError("a row's header is longer than the row")
    kinds = []
    while at < n_header:
        kind, at = _varint(payload, at)
        kinds.append(kind)
    values: list[Any] = []
    for kind in kinds:
        value, at = _value(payload, at, kind)
        values.append(value)
    if at != len(payload):
        raise BadPageError("a row is longer or shorter than its header says")
    return values


def _value(payload: bytes, at: int, kind: int) -> tuple[Any, int]:
    if kind >= _FIRST_TEXT:
        end = at + (kind - _FIRST_TEXT) // 2
        if end > len(payload):
            raise BadPageError("a value leads out of its row")
        raw = payload[at:end]
        return (raw.decode() if kind % 2 else raw), end
    if kind in _INTEGER_BYTES:
        end = at + _INTEGER_BYTES[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    if kind == _REAL:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if kind in (8, 9):
        return kind - 8, at
    if kind == 0:
        return None, at
    raise BadPageError(f"a value is of the unknown kind {kind}")


def _committed(path: Path, page_size: int) -> dict[int, bytes]:
    """Return the pages of a write-ahead log up to its last commit, by their numbers."""
    log = path.read_bytes() if path.is_file() else b""
    if len(log) < _WAL_HEADER:
        return {}
    magic, _, size = struct.unpack_from(">III", log)
    if magic not in _WAL_MAGIC or size != page_size:
        return {}
    order = ">" if magic & 1 else "<"
    sums = _checksum(log[:24], (0, 0), order)
    if sums != struct.unpack_from(">II", log, 24):
        return {}
    found: dict[int, bytes] = {}
    pending: dict[int, bytes] = {}
    at = _WAL_HEADER
    while at + _FRAME_HEADER + page_size <= len(log):
        number, n_pages = struct.unpack_from(">II", log, at)
        content = log[at + _FRAME_HEADER : at + _FRAME_HEADER + page_size]
        sums = _checksum(log[at : at + 8] + content, sums, order)
        if log[at + 8 : at + 16] != log[16:24] or sums != struct.unpack_from(">II", log, at + 16):
            break
        pending[number] = content
        if n_pages:
            found |= pending
            pending = {}
        at += _FRAME_HEADER + page_size
    return found


def _checksum(content: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second
