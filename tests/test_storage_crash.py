"""A writer that dies at any moment leaves a complete snapshot behind, and the next writer goes on from it."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest

from tests.disks import photograph
from ytrag_core.errors import SnapshotError
from ytrag_core.storage.arrays import write_arrays
from ytrag_core.storage.meta import ChunkRow, DocumentRow
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter
from ytrag_core.storage.tables import write_table

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from pathlib import Path

N_KILLS = 24
LONGEST_WAIT_SECONDS = 0.5
N_ROWS = 30_000


def build_next(root: Path, n_rows: int = N_ROWS) -> int:
    """Write a snapshot every part of which states the snapshot's number; return the number."""
    with SnapshotWriter(root) as writer:
        number = 1 if writer.previous is None else writer.previous.number + 1
        write_table(writer.path / "entities.parquet", pa.table({"id": np.full(n_rows, number)}))
        write_arrays(writer.path / "graph.arrow", {"indices": np.full(n_rows, number, dtype=np.int32)})
        writer.meta.put_documents(
            [
                DocumentRow("always", "", "", f"text {number}", ""),
                DocumentRow(f"new {number}", "", "", "x", ""),
            ]
        )
        writer.meta.delete_documents([f"new {number - 1}"])
        text = f"text {number}"
        writer.meta.put_chunks([ChunkRow("c", "always", 0, "", text, 0, len(text), "")])
        rows = np.full((n_rows, 4), number, dtype=np.float16)
        write_arrays(writer.path / "vectors" / "strings.arrow", {"rows": rows})
        writer.meta.put_reply("key", "model", f"reply {number}")
        writer.commit(counts={}, encoder={}, schema_version="", settings={"number": number}, sources=[])
    return number


def check_state(root: Path) -> int:
    """Return the number of the live snapshot, after checking that all its parts state it."""
    snapshot = Snapshot.open(root, verify="full")
    number = snapshot.number
    assert snapshot.manifest.settings == {"number": number}
    assert set(snapshot.table("entities")["id"].to_pylist()) == {number}
    assert (snapshot.arrays("graph.arrow")["indices"] == number).all()
    assert (snapshot.arrays("vectors/strings.arrow")["rows"] == number).all()
    with snapshot.open_meta() as meta:
        assert {row.id: row.text for row in meta.documents()} == {
            "always": f"text {number}",
            f"new {number}": "x",
        }
        assert [row.text for row in meta.chunks()] == [f"text {number}"]
    return number


def write_forever(root: Path, report: Connection) -> None:
    """Write one snapshot after another and report the number of each that is complete."""
    report.send(0)
    while True:
        report.send(build_next(root))


def kill_while_writing(root: Path, seconds: float) -> list[int]:
    """Let a process write for some time, kill it, and return the numbers that it reported as complete."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=write_forever, args=(root, sender))
    child.start()
    sender.close()
    assert receiver.recv() == 0
    time.sleep(seconds)
    child.kill()
    child.join(timeout=60)
    assert child.exitcode == -signal.SIGKILL
    child.close()
    reported = []
    with receiver, suppress(EOFError):
        while True:
            reported.append(int(receiver.recv()))
    return reported


def test_killed_writers_leave_a_complete_snapshot(tmp_path: Path) -> None:
    root = tmp_path / "kb"
    waits = random.Random(20250)
    number = build_next(root)
    for _ in range(N_KILLS):
        reported = kill_while_writing(root, waits.uniform(0.0, LONGEST_WAIT_SECONDS))
        last = reported[-1] if reported else number
        assert reported == list(range(number + 1, last + 1))
        assert check_state(root) in (last, last + 1)
        number = build_next(root)
        assert check_state(root) == number
        assert not list((root / "snapshots").glob(".*"))


WATCHED = ("fsync", "rename", "replace", "mkdir", "unlink", "rmdir")


def state_or_none(root: Path) -> int:
    """Return the number of the live snapshot, 0 where the first build has not come so far."""
    if not (root / "CURRENT").exists():
        with pytest.raises(SnapshotError, match=r"no finished snapshot|empty directory"):
            Snapshot.open(root)
        return 0
    return check_state(root)


@pytest.mark.parametrize("n_before", [0, 3])
def test_every_step_of_a_build_may_be_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_before: int
) -> None:
    root = tmp_path / "kb"
    for _ in range(n_before):
        build_next(root, n_rows=10)
    images = photograph(root, tmp_path / "images", monkeypatch, WATCHED, lambda: build_next(root, n_rows=10))
    monkeypatch.setattr(os, "fsync", lambda _: None)
    seen = set()
    for image in images:
        number = state_or_none(image)
        seen.add(number)
        # A first snapshot that is whole stays, though its build died before it was named.
        number = number or int((image / "snapshots" / "000001").is_dir())
        assert build_next(image, n_rows=10) == number + 1
        assert check_state(image) == number + 1
        assert len(list((image / "snapshots").iterdir())) == min(number + 1, 2)
        shutil.rmtree(image)
    assert seen == {n_before, n_before + 1}
    assert len(images) > 15
