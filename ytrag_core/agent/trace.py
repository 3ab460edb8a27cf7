"""Trace files: the events of questions as JSON Lines, written as they happen."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from ytrag_core.agent.events import AnswerPiece, Asked, Event, event_from_json
from ytrag_core.errors import DocumentError, WriteError

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

__all__ = ["TraceWriter", "read_trace"]

_FORMAT = {"trace": "ytrag", "version": 1}


class TraceWriter:
    """Appends events to a file; call it with each of them.

    Parameters
    ----------
    path
        Made anew with the first event, left as it is before; the pieces of an answer are joined to one line.

    Raises
    ------
    WriteError
        The file cannot be written, here or later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._piece: AnswerPiece | None = None
        try:
            self._is_new = not path.exists()
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise self._failed(error) from error
        self._has_begun = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __call__(self, event: Event) -> None:
        """Append an event; the first one empties the file."""
        if isinstance(event, AnswerPiece):
            before = self._piece
            self._piece = event if before is None else replace(before, text=before.text + event.text)
            return
        self._flush_piece()
        self._write(event.to_json())

    def close(self) -> None:
        """Write what is left, and close the file; doing so twice is harmless.

        Without any event a file that was not there before is not there afterwards.
        """
        if not self._file.closed:
            self._flush_piece()
            self._file.close()
            if self._is_new and not self._has_begun:
                with suppress(OSError):
                    self._path.unlink()

    def _flush_piece(self) -> None:
        if self._piece is not None:
            self._write(self._piece.to_json())
            self._piece = None

    def _write(self, record: dict[str, Any]) -> None:
        try:
            if not self._has_begun:
                self._begin()
            self._file.write(_line(record))
            self._file.flush()
        except OSError as error:
            raise self._failed(error) from error

    def _begin(self) -> None:
        if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
            self._file.truncate(0)
        self._has_begun = True
        self._file.write(_line(_FORMAT))

    def _failed(self, error: OSError) -> WriteError:
        return WriteError(f"the trace {self._path} cannot be written: {error.strerror or error}")


def _line(record: dict[str, Any]) -> str:
    text = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")
    return f"{text}\n"


def read_trace(path: Path) -> tuple[list[list[Event]], list[str]]:
    """Read a trace file.

    Parameters
    ----------
    path
        What `TraceWriter` wrote.

    Returns
    -------
    questions : list of list of Event
        The events of each question, in their order; a question that broke off lacks its `Done`.
    problems : list of str
        Lines that could not be read, and why.

    Raises
    ------
    DocumentError
        When there is no such file, or it is no trace.
    """
    try:
        lines = path.read_text(encoding="utf-8").rstrip("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(
            f"{path} cannot be read as a trace: {error}; give a file of `ytrag ask --trace`"
        ) from None
    head = _record(lines[0]) if lines else None
    if head is None or head.get("trace") != _FORMAT["trace"]:
        raise DocumentError(f"{path} is no trace of ytrag; give a file that `ytrag ask --trace` wrote")
    if head.get("version") != _FORMAT["version"]:
        raise DocumentError(
            f"{path} is a trace of version {head.get('version')!r}, {_FORMAT['version']} was wanted; "
            "show it with the version of ytrag that wrote it"
        )
    questions: list[list[Event]] = []
    problems: list[str] = []
    for number, line in enumerate(lines[1:], 2):
        record = _record(line)
        if record is None:
            problems.append(f"line {number} is no JSON object, or only a part of one")
            continue
        try:
            event = event_from_json(record)
        except ValueError as error:
            problems.append(f"line {number} holds no event that is known: {error}")
            continue
        if isinstance(event, Asked) or not questions:
            questions.append([])
        questions[-1].append(event)
    return questions, problems


def _record(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
