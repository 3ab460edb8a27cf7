"""Snapshots: what other rooms import to read a knowledge base or to write the next state of it."""

from __future__ import annotations

from ytrag_core.storage.manifest import FORMAT_VERSION, FileEntry, Manifest
from ytrag_core.storage.reader import Snapshot
from ytrag_core.storage.writer import SnapshotWriter

__all__ = ["FORMAT_VERSION", "FileEntry", "Manifest", "Snapshot", "SnapshotWriter"]
