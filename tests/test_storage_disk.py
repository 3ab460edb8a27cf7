"""Places that cannot be written, and disks that become full: the previous snapshot stays as it was."""

from __future__ import annotations

import os
import resource
import subprocess
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.disks import small_file_system
from tests.test_storage_snapshot import build, build_with, refused, value_of
from ytrag_core.errors import SnapshotError
from ytrag_core.storage.arrays import write_arrays
from ytrag_core.storage.meta import DocumentRow
from ytrag_core.storage.snapshot import SnapshotWriter
from ytrag_core.storage.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    build(tmp_path / "kb")
    return tmp_path / "kb"


def test_a_file_in_place_of_a_directory(tmp_path: Path, kb: Path) -> None:
    (tmp_path / "file").write_text("x")
    with refused("is not a directory", tmp_path / "file"), SnapshotWriter(tmp_path / "file"):
        pass
    with (
        refused("a file stands where a directory", tmp_path / "file"),
        SnapshotWriter(tmp_path / "file" / "kb"),
    ):
        pass
    with SnapshotWriter(kb) as writer:
        (writer.path / "vectors").write_text("x")
        with refused("a file stands where a directory is wanted", kb):
            write_arrays(writer.path / "vectors" / "a.arrow", {})
    assert value_of(kb) == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 6 MB of its own, or skip."""
    with small_file_system(tmp_path / "disk", 6) as folder:
        yield folder


def test_a_read_only_file_system_can_be_read(small_disk: Path) -> None:
    build(small_disk / "kb")
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    assert value_of(small_disk / "kb") == 1
    with refused("cannot be written", small_disk / "kb"), SnapshotWriter(small_disk / "kb"):
        pass
    with refused("cannot be written", small_disk / "new"), SnapshotWriter(small_disk / "new"):
        pass


@pytest.mark.skipif(
    os.geteuid() == 0, reason="nothing is read-only for root; the read-only file system covers it"
)
def test_a_read_only_directory_can_be_read(kb: Path) -> None:
    kb.chmod(0o555)
    try:
        assert value_of(kb) == 1
        with refused("cannot be written", kb), SnapshotWriter(kb):
            pass
    finally:
        kb.chmod(0o755)


def big_arrays(writer: SnapshotWriter) -> None:
    write_arrays(writer.path / "big.arrow", {"x": np.ones(10_000_000, dtype=np.int8)})


def big_table(writer: SnapshotWriter) -> None:
    noise = np.random.default_rng(1).integers(0, 1 << 60, 1_200_000)
    write_table(writer.path / "big.parquet", pa.table({"x": noise}))


def big_file(writer: SnapshotWriter) -> None:
    (writer.path / "big.bin").write_bytes(b"x" * 10_000_000)


def big_documents(writer: SnapshotWriter) -> None:
    writer.meta.put_documents(DocumentRow(str(n), "", "", "x" * 100_000, "") for n in range(100))


def big_manifest(writer: SnapshotWriter) -> None:
    writer.commit(counts={}, encoder={}, schema_version="", settings={"x": "x" * 10_000_000}, sources=[])


BIG: list[Callable[[SnapshotWriter], None]] = [big_arrays, big_table, big_file, big_documents, big_manifest]


@pytest.mark.parametrize("too_much", BIG)
def test_a_full_disk_leaves_the_previous_snapshot(
    small_disk: Path, too_much: Callable[[SnapshotWriter], None]
) -> None:
    root = small_disk / "kb"
    build(root)
    before = sorted(root.rglob("*"))
    with pytest.raises(SnapshotError, match="free some"):
        build_with(root, too_much)
    assert value_of(root) == 1
    assert [path for path in sorted(root.rglob("*")) if not path.name.startswith("meta.sqlite-")] == before
    build(root, 3)
    assert value_of(root) == 3


@pytest.mark.parametrize("too_much", [big_arrays, big_table, big_manifest])
def test_a_file_size_limit_leaves_the_previous_snapshot(
    kb: Path, too_much: Callable[[SnapshotWriter], None]
) -> None:
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, old[1]))
    try:
        with refused("ulimit", kb):
            build_with(kb, too_much)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    assert value_of(kb) == 1
    build(kb, 2)
    assert value_of(kb) == 2
