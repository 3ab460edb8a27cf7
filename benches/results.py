"""What was measured: one median for an operation, a size and a peer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from race import OURS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import pytest

__all__ = ["Result", "read_run", "results_of_session"]


@dataclass(frozen=True, slots=True)
class Result:
    """Median and interquartile range of one peer's seconds, how often it ran, and its recall."""

    operation: str
    size: int
    unit: str
    peer: str
    median: float
    iqr: float
    rounds: int
    recall: float | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the peer is one of ours."""
        return self.peer.startswith(OURS)


def read_run(path: Path) -> list[Result]:
    """Read what ``pytest --benchmark-json=path`` wrote; benches outside a race are left out."""
    text = path.read_text(encoding="utf-8").strip()
    document: dict[str, Any] = json.loads(text) if text else {"benchmarks": []}
    return _results((bench["extra_info"], bench["stats"]) for bench in document["benchmarks"])


def results_of_session(config: pytest.Config) -> list[Result]:
    """Return what the running session has measured."""
    session: Any = getattr(config, "_benchmarksession", None)
    benches: list[Any] = [] if session is None else [b for b in session.benchmarks if b.stats.data]
    return _results(
        (b.extra_info, {"median": b.stats.median, "iqr": b.stats.iqr, "rounds": b.stats.rounds})
        for b in benches
    )


def _results(pairs: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> list[Result]:
    return [
        Result(
            facts["operation"],
            int(facts["size"]),
            facts["unit"],
            facts["peer"],
            float(stats["median"]),
            float(stats["iqr"]),
            int(stats["rounds"]),
            facts.get("recall"),
        )
        for facts, stats in pairs
        if "operation" in facts
    ]
