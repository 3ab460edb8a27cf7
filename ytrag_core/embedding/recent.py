"""The vectors of the last questions."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["RecentVectors"]


class RecentVectors:
    """Remembers vectors by their texts, those of the texts that were last asked for.

    Parameters
    ----------
    most
        How many.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> NDArray[np.float32] | None:
        """Return the vector of a text, if it is remembered."""
        with self._lock:
            vector = self._vectors.get(text)
            if vector is not None:
                self._vectors.move_to_end(text)
            return vector

    def add(self, text: str, vector: NDArray[np.float32]) -> None:
        """Remember a vector, and forget the one that was not asked for longest if there are too many."""
        with self._lock:
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
            if len(self._vectors) > self._most:
                self._vectors.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._vectors.clear()
