"""The terminal: plain and coloured output, JSON, progress bars, and errors turned into exit codes."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import typer
from typer.core import TyperGroup

from ytrag_core.errors import (
    ConfigError,
    DocumentError,
    GraphFormatError,
    LLMError,
    QueryError,
    SchemaError,
    SnapshotError,
    WriteError,
    YtragError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.progress import TaskID

    from ytrag_core.pipeline.report import Progress

__all__ = [
    "DEBUG",
    "ErrorBoundary",
    "Pace",
    "emit_json",
    "is_debugging",
    "note",
    "prepare_streams",
    "printable",
    "progress_bars",
    "stderr_console",
    "stdout_console",
]

DEBUG = "YTRAG_DEBUG"

_BAD_INPUT = (ConfigError, DocumentError, GraphFormatError, QueryError, SchemaError, SnapshotError)
_EXIT_FAILURE, _EXIT_BAD_INPUT, _EXIT_INTERRUPTED, _EXIT_BROKEN_PIPE = 1, 2, 130, 141
_INTERRUPTED = threading.Event()
_PIPE_WIDTH = 100
_MAX_WIDTH = 120
_REFRESH_SECONDS = 0.05
_PATIENCE_SECONDS = 2.0
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """Return a text that cannot steer a terminal: of control characters only tabs and line feeds stay."""
    return _UNPRINTABLE.sub("", text)


def stdout_console() -> Console:
    """Return the console for results: as wide as the terminal up to 120, 100 columns into a pipe or file."""
    return _console(sys.stdout)


def stderr_console() -> Console:
    """Return the console for progress, notes and errors."""
    return _console(sys.stderr)


def _console(stream: Any) -> Console:
    from rich.console import Console

    class PlainConsole(Console):
        """Leaves a broken pipe to the error boundary."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    console = PlainConsole(file=stream, markup=False, emoji=False, highlight=False, soft_wrap=False)
    if "COLUMNS" not in os.environ:
        console.width = min(console.width, _MAX_WIDTH) if console.is_terminal else _PIPE_WIDTH
    return console


def emit_json(document: Any, *, indent: int | None = 2) -> None:
    """Write one JSON document in UTF-8 and nothing else on standard output; on one line without `indent`."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=indent, default=_plain_number)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")
    sys.stdout.buffer.flush()


def _plain_number(value: Any) -> Any:
    """Return what a NumPy scalar holds."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def note(text: str) -> None:
    """Say something beside the result, one line on standard error."""
    sys.stderr.write(f"ytrag: {printable(' '.join(text.split()))}\n")
    sys.stderr.flush()


@contextmanager
def progress_bars() -> Iterator[Progress]:
    """Yield a `(stage, done, total)` callback that draws one bar a stage on standard error.

    A bar has its rate and the time that is left; what was done before the first report counts in neither.

    Where that is no terminal, a finished stage is one plain line instead.
    """
    console = stderr_console()
    stages = _StageBars(console) if console.is_terminal else _StageLines()
    try:
        yield stages
    finally:
        stages.close()


class Pace(NamedTuple):
    """What a stage did, and in how many seconds."""

    done: int
    seconds: float

    def rate(self) -> str:
        """Return how many a second; nothing while there is too little to tell it from."""
        if self.done < 2 or self.seconds < _REFRESH_SECONDS:
            return ""
        rate = self.done / self.seconds
        return f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"

    def left(self, n: int) -> str:
        """Return how long `n` more will take; nothing in the first seconds."""
        if self.done < 2 or self.seconds < _PATIENCE_SECONDS or n <= 0:
            return ""
        minutes, seconds = divmod(round(self.seconds * n / self.done), 60)
        hours, minutes = divmod(minutes, 60)
        if hours:
            return f"{hours:,} h {minutes} min left"
        return f"{minutes} min left" if minutes else f"{seconds} s left"


class _Stages:
    """Keeps the clock of every stage, and lets through only what is worth showing."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}
        self._before: dict[str, int] = {}
        self._shown: dict[str, float] = {}
        self._finished: set[str] = set()
        self._told: dict[str, str] = {}

    def tell(self, stage: str, text: str) -> None:
        """Remember a few words that stand beside a stage from its next report on."""
        self._told[stage] = text

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        if _INTERRUPTED.is_set():
            raise KeyboardInterrupt
        now = time.perf_counter()
        started = self._started.setdefault(stage, now)
        before = self._before.setdefault(stage, done)
        is_last = total is not None and done >= total
        if stage in self._finished or (not is_last and now - self._shown.get(stage, 0.0) < _REFRESH_SECONDS):
            return
        self._shown[stage] = now
        if is_last:
            self._finished.add(stage)
        self.show(stage, done, total, Pace(done - before, now - started))

    def show(self, stage: str, done: int, total: int | None, pace: Pace) -> None:
        """Bring a stage on the screen."""
        raise NotImplementedError

    def close(self) -> None:
        """Leave the screen in order."""


class _StageLines(_Stages):
    def show(self, stage: str, done: int, total: int | None, pace: Pace) -> None:
        if total is None or done < total:
            return
        count = f"{done:,}" if done else ""
        rate = pace.rate()
        words = [f"({rate})" if rate else "", self._told.get(stage, "")]
        line = f"{stage:<22} {count:>12} {pace.seconds:>8.1f} s {' '.join(filter(None, words))}"
        sys.stderr.write(f"{printable(line).rstrip()}\n")
        sys.stderr.flush()


class _StageBars(_Stages):
    def __init__(self, console: Console) -> None:
        super().__init__()
        from rich import progress as bars

        self._progress = bars.Progress(
            bars.TextColumn("{task.description:<22}"),
            bars.BarColumn(bar_width=24),
            bars.TextColumn("{task.fields[count]:>19}"),
            bars.TextColumn("{task.fields[rate]:>11}", style="dim"),
            bars.TimeElapsedColumn(),
            bars.TextColumn("{task.fields[left]}", style="dim"),
            bars.TextColumn("{task.fields[told]}", style="dim"),
            console=console,
            redirect_stdout=False,
        )
        self._tasks: dict[str, TaskID] = {}

    def close(self) -> None:
        self._progress.stop()

    def show(self, stage: str, done: int, total: int | None, pace: Pace) -> None:
        if stage not in self._tasks:
            self._progress.start()
            self._tasks[stage] = self._progress.add_task(
                printable(stage), total=total, count="", rate="", left="", told=""
            )
        count = f"{done:,}/{total:,}" if total and total != done else f"{done:,}" if done else ""
        is_last = total is not None and done >= total
        self._progress.update(
            self._tasks[stage],
            completed=done or int(is_last),
            total=total or (1 if is_last else total),
            count=count,
            rate=pace.rate(),
            left=pace.left(total - done) if total else "",
            told=printable(self._told.get(stage, "")),
        )


@contextmanager
def _remembered_interrupts() -> Iterator[None]:
    """Remember Ctrl-C: one that a library's callback swallows stops the command at the next progress."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(number: int, frame: object) -> None:
        _INTERRUPTED.set()
        raise KeyboardInterrupt

    def unraisable(swallowed: sys.UnraisableHookArgs) -> None:
        if not issubclass(swallowed.exc_type, KeyboardInterrupt):
            told(swallowed)

    _INTERRUPTED.clear()
    signal.signal(signal.SIGINT, interrupt)
    told, sys.unraisablehook = sys.unraisablehook, unraisable
    try:
        yield
    finally:
        _INTERRUPTED.clear()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = told


class ErrorBoundary(TyperGroup):
    """Runs a command; whatever goes wrong becomes one line on standard error and an exit code.

    Bad input ends with 2, any other failure with 1, Ctrl-C with 130, a reader that went away with 141.
    `YTRAG_DEBUG=1` shows tracebacks.
    """

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            with _remembered_interrupts():
                outcome = super().invoke(ctx)
            sys.stdout.flush()
        except YtragError as error:
            bad_input = isinstance(error, _BAD_INPUT) and not isinstance(error, WriteError)
            _fail(error, _describe(error), _EXIT_BAD_INPUT if bad_input else _EXIT_FAILURE)
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(_EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            _silence_stdout()
            raise typer.Exit(_EXIT_BROKEN_PIPE) from None
        except Exception as error:
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code"):
                raise
            text = f"unexpected {type(error).__name__}: {error} (set {DEBUG}=1 to see where it came from)"
            _fail(error, text, _EXIT_FAILURE)
        return outcome


def _describe(error: YtragError) -> str:
    text = str(error)
    if isinstance(error, LLMError):
        text += " (with YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL unset, `ask` shows the evidence itself)"
    return text


def _fail(error: Exception, text: str, code: int) -> NoReturn:
    if is_debugging():
        traceback.print_exception(error)
    note(f"error: {text}")
    raise typer.Exit(code) from None


def is_debugging() -> bool:
    """Return whether the user asked for tracebacks and debug logs."""
    return os.environ.get(DEBUG, "") not in ("", "0")


def prepare_streams() -> None:
    """Make output safe: what an encoding lacks is replaced, warnings and logs are one line each."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    handler = logging.StreamHandler(sys.stderr)
    handler.setLevel(logging.DEBUG if is_debugging() else logging.WARNING)
    logging.basicConfig(handlers=[handler], level=handler.level, format="ytrag: %(name)s: %(message)s")
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    note(f"warning: {message}")


def _silence_stdout() -> None:
    """Point standard output nowhere, so that the interpreter's last flush cannot complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
