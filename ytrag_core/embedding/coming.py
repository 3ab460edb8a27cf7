"""Questions whose successors are known: each is encoded together with those of its length."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

__all__ = ["ComingQuestions"]

_TOGETHER = 4
"""Questions of one length that are encoded together; more share the reading of the weights, but are less
often there."""


class ComingQuestions:
    """Encodes questions of which some are known before their turn; safe to use from several threads.

    About a third of the time of a short question does not depend on its length: its weights are read, which
    are more than a core's own cache holds, and operators are called. Texts of one length share that, and
    their vectors are those that they have alone.

    Parameters
    ----------
    encoder
        Encodes them, and remembers their vectors.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._lock = threading.Lock()
        self._of_length: dict[int, dict[str, list[int]]] = {}
        self._length: dict[str, int] = {}
        self._running: dict[str, Future[None]] = {}

    def expect(self, text: str) -> None:
        """Announce a question that will be asked for."""
        ids = self._encoder.ids_of_query(text)
        if ids is not None:
            with self._lock:
                self._of_length.setdefault(len(ids), {})[text] = ids
                self._length[text] = len(ids)

    def encode(self, text: str) -> NDArray[np.float32]:
        """Encode one question, and announced ones of its length with it; see `Encoder.encode_query`."""
        done = Future[None]()
        with self._lock:
            running = self._running.get(text)
            together = {} if running else self._take(text)
            self._running.update(dict.fromkeys(together, done))
        if running is not None:
            running.result()
        elif together:
            try:
                self._encoder.encode_alike(together)
            finally:
                with self._lock:
                    for each in together:
                        del self._running[each]
                done.set_result(None)
        return self._encoder.encode_query(text)

    def _take(self, text: str) -> dict[str, list[int]]:
        """Take a text and those announced first of its length; nothing where it was not announced."""
        length = self._length.get(text)
        if length is None:
            return {}
        alike = self._of_length[length]
        taken = {text: alike.pop(text)}
        for other in list(islice(alike, _TOGETHER - 1)):
            taken[other] = alike.pop(other)
        if not alike:
            del self._of_length[length]
        for each in taken:
            del self._length[each]
        return taken
