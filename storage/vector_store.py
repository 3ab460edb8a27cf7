"""Vectors beside the snapshots: blocks of rows by the hash of their text, one folder for each encoder.

A block holds what no snapshot holds yet, so that a build that dies loses little, or what none holds any more,
so that a text that comes back is not encoded again.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import SnapshotError
from ytrag_core.storage import layout
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.arrays import ArraySpec, map_arrays, read_metadata, write_arrays
from ytrag_core.storage.files import fsync_path, reading, writing

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["VectorBlock", "VectorStore", "check_block", "encoder_folder"]

_LOG = logging.getLogger(__name__)
_NAME = re.compile(r"[0-9]{6,12}\.arrow")
_PARTIAL = ".partial"
_FINGERPRINT, _CHECKSUM = "fingerprint", "sha256"


@dataclass(frozen=True, slots=True, eq=False)
class VectorBlock:
    """A block, mapped.

    Attributes
    ----------
    name
        Its file's name.
    hashes
        (n, 2) uint64 hashes of texts, in any order.
    vectors
        (n, d) float16, one row for each hash.
    """

    name: str
    hashes: NDArray[np.uint64]
    vectors: NDArray[np.float16]


class VectorStore:
    """The blocks of one encoder in a knowledge base.

    Only the holder of the knowledge base's lock may write; anyone may read meanwhile.

    Parameters
    ----------
    root
        The knowledge base's directory.
    fingerprint
        The encoder's.
    dimension
        Width of its vectors.

    Attributes
    ----------
    folder
        Where its blocks lie: `vectors/<hash of the fingerprint>`.
    damaged
        Names of blocks that `blocks` found unusable; they may be dropped.
    """

    def __init__(self, root: Path, fingerprint: str, dimension: int) -> None:
        self._root = root
        self._fingerprint = fingerprint
        self._dimension = dimension
        self.folder = root / layout.VECTORS_NAME / encoder_folder(fingerprint)
        self.damaged: list[str] = []

    def blocks(self) -> list[VectorBlock]:
        """Map all blocks, after comparing their checksums.

        A damaged block is told in a warning and left out: what it held is encoded again.

        Raises
        ------
        SnapshotError
            If a block is of another encoder, or the folder cannot be read.

        Notes
        -----
        Reads every byte once, about 1 GB/s.
        """
        self.damaged = []
        found = []
        for name in self._names():
            try:
                found.append(self._open(name))
            except SnapshotError as error:
                if isinstance(error, _MixedError):
                    raise
                self.damaged.append(name)
                _LOG.warning("%s; its texts are encoded again", error)
        return found

    def _names(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        with reading(self.folder):
            return sorted(
                (path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)), key=_number
            )

    def _open(self, name: str) -> VectorBlock:
        path = self.folder / name
        arrays = map_arrays(
            path,
            {
                "hashes": ArraySpec(np.uint64, 2, width=2),
                "vectors": ArraySpec(np.float16, 2, width=self._dimension),
            },
        )
        block = VectorBlock(name, arrays["hashes"], arrays["vectors"])
        metadata = read_metadata(path)
        fingerprint = metadata.get(_FINGERPRINT, "")
        if len(block.hashes) != len(block.vectors) or metadata.get(_CHECKSUM) != _checksum(
            fingerprint, block.hashes, block.vectors
        ):
            raise SnapshotError(f"{path} is damaged: its checksum is wrong")
        if fingerprint != self._fingerprint:
            raise _MixedError(
                f"{path} holds vectors of the encoder {fingerprint!r} among those of {self._fingerprint!r}: "
                f"vectors of two encoders are never mixed; {repair_advice(path)}"
            )
        return block

    def append(self, hashes: NDArray[np.uint64], vectors: NDArray[np.float16]) -> str:
        """Write a block that is whole and on the disk, or not there at all, whenever the machine stops.

        Parameters
        ----------
        hashes
            (n, 2) uint64.
        vectors
            (n, d) float16.

        Returns
        -------
        str
            The block's name.

        Raises
        ------
        SnapshotError
            If it cannot be written; all other blocks stay as they are.
        """
        self._make_folder()
        names = self._names()
        name = f"{_number(names[-1]) + 1 if names else 1:06d}.arrow"
        path = self.folder / name
        partial = path.with_name(f".{name}{_PARTIAL}")
        metadata = {
            _FINGERPRINT: self._fingerprint,
            _CHECKSUM: _checksum(self._fingerprint, hashes, vectors),
        }
        try:
            write_arrays(partial, {"hashes": hashes, "vectors": vectors}, metadata)
            with writing(path):
                os.replace(partial, path)  # noqa: PTH105 - tests watch this very call
                fsync_path(self.folder)
        except BaseException:
            with suppress(OSError):
                partial.unlink()
            raise
        return name

    def _make_folder(self) -> None:
        if self.folder.is_dir():
            return
        with writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            fsync_path(self.folder.parent)
            fsync_path(self._root)

    def drop(self, names: Iterable[str]) -> None:
        """Remove blocks and what interrupted writers left; one that cannot be removed is told and stays."""
        if not self.folder.is_dir():
            return
        partials = [path.name for path in self.folder.iterdir() if path.name.endswith(_PARTIAL)]
        for name in (*names, *partials):
            try:
                (self.folder / name).unlink(missing_ok=True)
            except OSError as error:
                _LOG.warning("a block of vectors could not be removed: %s", error)
        with suppress(OSError):
            for folder in (self.folder, self.folder.parent):
                if not any(folder.iterdir()):
                    folder.rmdir()


def check_block(path: Path) -> None:
    """Check a block that lies in the folder of its encoder, whichever that is.

    Raises
    ------
    SnapshotError
        If it is damaged, or of another encoder than its folder.
    """
    arrays = map_arrays(
        path, {"hashes": ArraySpec(np.uint64, 2, width=2), "vectors": ArraySpec(np.float16, 2)}
    )
    hashes, vectors = arrays["hashes"], arrays["vectors"]
    metadata = read_metadata(path)
    fingerprint = metadata.get(_FINGERPRINT, "")
    if len(hashes) != len(vectors) or metadata.get(_CHECKSUM) != _checksum(fingerprint, hashes, vectors):
        raise SnapshotError(f"{path} is damaged: its checksum is wrong")
    if encoder_folder(fingerprint) != path.parent.name:
        raise SnapshotError(f"{path} holds vectors of another encoder, {fingerprint!r}")


def encoder_folder(fingerprint: str) -> str:
    """Return the name of the folder of an encoder's blocks."""
    return hashlib.sha256(fingerprint.encode()).hexdigest()[:16]


class _MixedError(SnapshotError):
    """A block of another encoder."""


def _number(name: str) -> int:
    return int(name.removesuffix(".arrow"))


def _checksum(fingerprint: str, hashes: NDArray[np.uint64], vectors: NDArray[np.float16]) -> str:
    digest = hashlib.sha256(f"{fingerprint}\0{vectors.shape}\0".encode())
    for array in (hashes, vectors):
        if array.size:
            digest.update(np.ascontiguousarray(array).data.cast("B"))
    return digest.hexdigest()
