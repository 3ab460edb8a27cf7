"""What a build reports: counts, stages with their cost, and problems."""

from __future__ import annotations

import resource
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ytrag_core.documents.model import Problem

__all__ = [
    "BuildReport",
    "Progress",
    "RunningStage",
    "Stage",
    "StageRecorder",
    "TalkingProgress",
    "no_progress",
    "peak_rss_mb",
]


class Progress(Protocol):
    """Called as a stage advances; the command line draws a bar from it."""

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        """Say that `done` of `total` items (None: unknown) of `stage` are finished."""


@runtime_checkable
class TalkingProgress(Progress, Protocol):
    """A progress that also shows a few words: what a stage has found and spent."""

    def tell(self, stage: str, text: str) -> None:
        """Show `text` beside `stage` until there is another."""


def no_progress(stage: str, done: int, total: int | None) -> None:
    """Ignore progress."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a build: wall seconds, items, and the process's peak memory at its end (MiB)."""

    name: str
    seconds: float
    items: int
    peak_rss_mb: float


@dataclass(frozen=True, slots=True)
class BuildReport:
    """The outcome of `index` and `import`; `language_model` is what one was asked for and cost."""

    snapshot: str
    counts: dict[str, int]
    encoded_strings: int
    reused_strings: int
    stages: tuple[Stage, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...] = ()
    language_model: dict[str, Any] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the commands `index` and `import`."""
        return {
            "snapshot": self.snapshot,
            "counts": dict(self.counts),
            "encoded_strings": self.encoded_strings,
            "reused_strings": self.reused_strings,
            "stages": [
                {
                    "name": stage.name,
                    "seconds": round(stage.seconds, 3),
                    "items": stage.items,
                    "peak_rss_mb": round(stage.peak_rss_mb, 1),
                }
                for stage in self.stages
            ],
            "problems": [{"source": problem.source, "reason": problem.reason} for problem in self.problems],
            "notes": list(self.notes),
            **({} if self.language_model is None else {"language_model": self.language_model}),
        }


def peak_rss_mb() -> float:
    """Return the highest resident memory of this process so far, in MiB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


@dataclass(slots=True)
class RunningStage:
    """A stage under way; whoever runs it sets `items`."""

    items: int = 0


@dataclass(slots=True)
class StageRecorder:
    """Times the stages of a build and passes their progress on."""

    progress: Progress = no_progress
    stages: list[Stage] = field(default_factory=list)

    @contextmanager
    def stage(self, name: str, items: int = 0) -> Iterator[RunningStage]:
        """Time the body as stage `name`; the body may correct `items`."""
        running = RunningStage(items)
        self.progress(name, 0, items or None)
        start = time.perf_counter()
        yield running
        self.progress(name, running.items, running.items)
        self.stages.append(Stage(name, time.perf_counter() - start, running.items, peak_rss_mb()))

    def tell(self, name: str, text: str) -> None:
        """Say how a stage fares, beside how far it is, to whoever wants to know."""
        if isinstance(self.progress, TalkingProgress):
            self.progress.tell(name, text)

    def callback(self, name: str) -> Callable[[int, int], None]:
        """Return a `(done, total)` callback for the stage `name`."""
        return lambda done, total: self.progress(name, done, total)
