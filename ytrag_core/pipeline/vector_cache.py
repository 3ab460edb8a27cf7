"""Vectors that need not be made: of the snapshot before, the store beside it, another knowledge base."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.reuse import KnownVectors
from ytrag_core.errors import ConfigError, SnapshotError
from ytrag_core.retrieval import layout
from ytrag_core.storage.snapshot import Snapshot
from ytrag_core.storage.vector_store import VectorStore

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.storage.snapshot import SnapshotWriter
    from ytrag_core.storage.vector_store import VectorBlock

__all__ = ["VectorCache"]

_LOG = logging.getLogger(__name__)
_BLOCK_ROWS = 65_536
_FILES = (layout.STRING_VECTORS, layout.TRIPLE_VECTORS, layout.CHUNK_VECTORS, layout.MERGED_VECTORS)

Part = tuple["NDArray[np.uint64]", "NDArray[np.float16]"]


class VectorCache:
    """The known vectors of a build, and the store that it writes to.

    While a build encodes, `save` puts every finished block on the disk. Before the snapshot is committed,
    `keep` stores the rows that the live snapshot has and the new one has not; afterwards `drop` removes the
    blocks whose rows the new snapshot holds. So a crash at any moment loses at most a block under way, and
    no vector stays on the disk twice.

    Parameters
    ----------
    writer
        The open writer.
    encoder
        The encoder of the build.
    borrowed
        Another knowledge base whose vectors may be used; it is only read.
    change_encoder
        Whether the live snapshot may be of another encoder.
    older
        Whether to use the vectors of the snapshots before, too: the live one is damaged.

    Attributes
    ----------
    known
        Vectors by hash.

    Raises
    ------
    ConfigError
        The live snapshot is of another encoder, or the other knowledge base is.
    SnapshotError
        The other knowledge base cannot be opened, or a store holds vectors of another encoder.
    """

    def __init__(
        self,
        writer: SnapshotWriter,
        encoder: Encoder,
        borrowed: Path | None = None,
        *,
        change_encoder: bool = False,
        older: bool = False,
    ) -> None:
        self._store = VectorStore(writer.root, encoder.fingerprint, encoder.dimension)
        live, description = writer.previous, encoder.description
        if live is not None and not _made_by(live, encoder) and not change_encoder:
            raise ConfigError(
                f"the vectors of {writer.root} were made by the encoder {_fingerprint(live)!r}, and "
                f"{encoder.fingerprint!r} arrived; change the encoder of everything with "
                f"`ytrag reembed --kb {writer.root} --encoder {description.folder or description.name} "
                f"--precision {encoder.precision}`, or build in a new directory"
            )
        self._blocks = self._store.blocks()
        parts = [(block.hashes, block.vectors) for block in self._blocks]
        for snapshot in _snapshots(writer, encoder, older=older):
            parts += _snapshot_parts(snapshot)
        self._n_own = len(parts)
        if borrowed is not None and borrowed.resolve() != writer.root.resolve():
            parts += _borrowed_parts(borrowed, encoder)
        self.known = KnownVectors.merge(parts)
        self._used = np.zeros(len(self.known), bool)
        self._unneeded: list[str] = []

    def lookup(self, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the positions in `known` of the (n, 2) hashes of a part of the new snapshot."""
        positions = self.known.lookup(hashes)
        self._used[positions[positions >= 0]] = True
        return positions

    def save(self, hashes: NDArray[np.uint64], vectors: NDArray[np.float16]) -> None:
        """Store a block of rows that the new snapshot will hold.

        Raises
        ------
        SnapshotError
            If it cannot be written.
        """
        self._unneeded.append(self._store.append(hashes, vectors))

    def keep(self) -> None:
        """Store what the new snapshot has not; call it when all its texts were looked up, before the commit.

        Raises
        ------
        SnapshotError
            If it cannot be written; nothing is lost then.
        """
        spare = ~self._used & (self.known.source < self._n_own)
        n_spare = np.bincount(self.known.source[spare], minlength=self._n_own)
        whole = [
            number
            for number, block in enumerate(self._blocks)
            if n_spare[number] == len(block.hashes) >= _BLOCK_ROWS // 2
        ]
        loose = [number for number in range(self._n_own) if n_spare[number] and number not in whole]
        if len(loose) == 1 and loose[0] < len(self._blocks) and self._is_whole(loose[0], n_spare):
            whole += loose  # a single small block would be written again as it is
            loose = []
        positions = np.flatnonzero(spare & np.isin(self.known.source, loose))
        for start in range(0, len(positions), _BLOCK_ROWS):
            self._rewrite(positions[start : start + _BLOCK_ROWS])
        self._unneeded += [block.name for number, block in enumerate(self._blocks) if number not in whole]
        self._unneeded += self._store.damaged

    def _is_whole(self, number: int, n_spare: NDArray[np.int64]) -> bool:
        return int(n_spare[number]) == len(self._blocks[number].hashes)

    def _rewrite(self, positions: NDArray[np.int64]) -> None:
        vectors = np.empty((len(positions), self._width()), np.float16)
        self.known.copy_rows(positions, vectors, np.arange(len(positions)))
        self._store.append(np.ascontiguousarray(self.known.hashes[positions]), vectors)

    def _width(self) -> int:
        return int(self.known.vectors[0].shape[1])

    def drop(self) -> None:
        """Remove the blocks that are needed no longer; call it after the commit."""
        self._store.drop(self._unneeded)


def _fingerprint(snapshot: Snapshot) -> str:
    return str(snapshot.manifest.encoder.get("fingerprint", ""))


def _made_by(snapshot: Snapshot, encoder: Encoder) -> bool:
    """Compare what an encoder is; its name may be that of a folder which was renamed."""
    return _fingerprint(snapshot).partition(":")[2] == encoder.fingerprint.partition(":")[2]


def _snapshots(writer: SnapshotWriter, encoder: Encoder, *, older: bool) -> list[Snapshot]:
    """Return the snapshots whose vectors can be used: the live one, or one before the encoder was changed."""
    live = writer.previous
    if live is None:
        return []
    if _made_by(live, encoder) and not older:
        return [live]
    before = [live] if _made_by(live, encoder) else []
    return before + [snapshot for snapshot in writer.older() if _made_by(snapshot, encoder)]


def _snapshot_parts(snapshot: Snapshot) -> list[Part]:
    """Return hashes and vectors of a snapshot's texts; what is damaged is told and left out."""
    parts: list[Part] = []
    for path in _FILES:
        if path in snapshot.manifest.files:
            try:
                snapshot.check_sums([path])
                arrays = snapshot.arrays(path)
                parts.append((arrays["hashes"], arrays["vectors"]))
            except (SnapshotError, KeyError) as error:
                _LOG.warning("vectors of %s are not reused: %s", path, error)
    return parts


def _borrowed_parts(root: Path, encoder: Encoder) -> list[Part]:
    """Return hashes and vectors of another knowledge base: its live snapshot's and its store's."""
    snapshot = Snapshot.open(root, verify="size")
    if not _made_by(snapshot, encoder):
        raise ConfigError(
            f"the vectors of {root} were made by the encoder {_fingerprint(snapshot)!r}, this build encodes "
            f"with {encoder.fingerprint!r}; vectors of two encoders are never mixed: build with the encoder "
            "of that knowledge base, or without its vectors"
        )
    blocks: list[VectorBlock] = VectorStore(root, _fingerprint(snapshot), encoder.dimension).blocks()
    return [*_snapshot_parts(snapshot), *((block.hashes, block.vectors) for block in blocks)]
