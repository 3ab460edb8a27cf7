"""Knowledge bases over the tiny encoder: quick to build, and every text that is encoded is counted."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from tests.bases import live_folder, write_edges
from tests.tiny_encoder import tiny_weights, write_published
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.storage.arrays import map_arrays
from ytrag_core.storage.vector_store import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from numpy.typing import NDArray

Hash = tuple[int, int]


class CountingEncoder(Encoder):
    """An encoder that remembers what it encoded."""

    encoded: list[str]
    before_each: Callable[[int], None] | None = None

    def encode(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        if self.before_each is not None:
            self.before_each(len(self.encoded))
        vectors = super().encode(texts, progress=progress)
        self.encoded += texts
        return vectors


def stuck_encoder(home: Path, stop_after: int, pipe: Connection) -> CountingEncoder:
    """Load the tiny encoder, which tells of a block of texts beyond the first few, and waits for ever."""
    encoder = tiny_encoder(home)
    n_blocks = 0

    def before_each(n_encoded: int) -> None:
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks > stop_after:
            pipe.send(n_encoded)
            time.sleep(600)

    encoder.before_each = before_each
    return encoder


def tiny_encoder(home: Path, seed: int = 0, max_tokens: int = 32) -> CountingEncoder:
    """Load the tiny encoder; another seed is another encoder."""
    folder = home / f"tiny{seed}"
    description = replace(write_published(folder, tiny_weights(seed)), max_tokens=max_tokens)
    encoder = CountingEncoder.load(folder, description=description, precision="fp32", cache=home / "cache")
    assert isinstance(encoder, CountingEncoder)
    encoder.encoded = []
    return encoder


def name_of(number: int) -> str:
    """Return one of 16,807 names of letters that the tiny encoder tells apart."""
    return " ".join("abcdefg"[(number // 7**place) % 7] for place in range(5)) + f" {number}"


def write_names(folder: Path, names: Sequence[str]) -> Path:
    """Write a graph of named nodes in a ring."""
    ids = np.arange(len(names))
    nodes = pa.table({"id": ids, "name": list(names)})
    edges = pa.table({"src": ids, "relation": ["born in"] * len(names), "dst": np.roll(ids, 1)})
    return write_edges(folder, nodes, edges)


def live_hashes(root: Path) -> set[Hash]:
    """Return the hashes of all texts of the live snapshot."""
    found: set[Hash] = set()
    for name in ("strings", "triples", "chunks"):
        path = live_folder(root) / "vectors" / f"{name}.arrow"
        if path.exists():
            found |= {(first, second) for first, second in map_arrays(path)["hashes"].tolist()}
    return found


def stored_hashes(root: Path, encoder: Encoder) -> list[Hash]:
    """Return the hashes in the store, block after block."""
    blocks = VectorStore(root, encoder.fingerprint, encoder.dimension).blocks()
    return [(first, second) for block in blocks for first, second in block.hashes.tolist()]
