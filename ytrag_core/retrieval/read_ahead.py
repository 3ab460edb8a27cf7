"""Many questions, read before their turn so that those of one length are encoded together."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from ytrag_core.embedding.coming import ComingQuestions
from ytrag_core.retrieval.triples import QueryVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.routes import Run

__all__ = ["ReadAhead"]

_FEWEST_AHEAD, _MOST_AHEAD, _READ_TOGETHER = 4, 32, 2
"""Questions that are read before their turn: of twice as many texts some are of one length. The first
question waits for few of them, each later one for two more."""


class ReadAhead:
    """Reads many questions and prepares them; safe to use from several threads.

    Parameters
    ----------
    questions
        The questions.
    read
        Reads one: looks its names up.
    encoder
        Encodes them.
    """

    def __init__(self, questions: Sequence[str], read: Callable[[str], Run], encoder: Encoder) -> None:
        self._questions, self._read = questions, read
        self._coming = ComingQuestions(encoder)
        self._reading = threading.Lock()
        self._n_read = 0
        self._runs: dict[int, Run] = {}

    def prepare(self, position: int) -> Run:
        """Return a question's run, encoded and searched for."""
        run = self._take(position)
        asked, encode = run.asked, self._coming.encode
        with asked.clock.stage("encode"):
            residual = encode(asked.residual) if asked.residual else None
            run.query = QueryVectors.of(encode(asked.text), residual)
        run.search()
        return run

    def _take(self, position: int) -> Run:
        with self._reading:
            end = max(position + _FEWEST_AHEAD, self._n_read + _READ_TOGETHER)
            end = min(end, position + _MOST_AHEAD, len(self._questions))
            for coming in range(self._n_read, end):
                run = self._runs[coming] = self._read(self._questions[coming])
                self._coming.expect(run.asked.text)
                if run.asked.residual:
                    self._coming.expect(run.asked.residual)
            self._n_read = max(self._n_read, end)
            return self._runs.pop(position)
