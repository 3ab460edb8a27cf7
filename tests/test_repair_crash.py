"""A repair that dies, or meets a full or a read-only disk, leaves what the next one makes whole."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.bases import live_folder
from tests.disks import photograph, small_file_system
from tests.test_repair import (
    answers,
    contents,
    copy,
    encoder,
    flipped,
    home,
    removed,
    repair,
    truncated,
    wrong,
)
from tests.test_repair import bases as bases
from tests.tiny_bases import stuck_encoder
from ytrag_core.embedding import reuse
from ytrag_core.errors import SnapshotError, WriteError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.connection import Connection
    from pathlib import Path

    from tests.tiny_bases import CountingEncoder

__all__ = ["bases", "copy", "encoder", "home"]

WATCHED = ("fsync", "rename", "replace", "mkdir", "unlink", "rmdir")
N_IMAGES = 16
KILLS = (1, 2, 3)
BLOCK_TOKENS = 40


def ruin(root: Path) -> None:
    """Damage a table, what is made of it, vectors, the manifest, the store and `CURRENT`."""
    live = live_folder(root)
    flipped(live / "entities.parquet")
    removed(live / "graph.arrow")
    truncated(live / "vectors" / "triples.arrow")
    flipped(live / "manifest.json")
    content = bytearray((root / "meta.sqlite").read_bytes())
    content[4096:12288] = bytes(8192)
    (root / "meta.sqlite").write_bytes(content)
    removed(root / "CURRENT")


@pytest.mark.slow
def test_every_step_of_a_repair_may_be_the_last(
    copy: Callable[[str], Path], encoder: CountingEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy("documents")
    before, answer = contents(root), answers(root, encoder)
    ruin(root)
    images = photograph(root, tmp_path / "images", monkeypatch, WATCHED, lambda: repair(root, encoder))
    assert contents(root) == before
    assert len(images) > N_IMAGES
    monkeypatch.setattr(os, "fsync", lambda _: None)
    step = len(images) / N_IMAGES
    for turn in range(N_IMAGES):
        image = images[int(turn * step)]
        report = repair(image, encoder)
        assert not report.lost
        assert contents(image) == before
        assert not wrong(image)
        assert answers(image, encoder) == answer
        assert not (image / "meta.sqlite.new").exists()


def repair_until(root: Path, home: Path, stop_after: int, pipe: Connection) -> None:
    """Repair, and wait for ever before a block of texts is encoded."""
    reuse._BLOCK_TOKENS = BLOCK_TOKENS
    encoder = stuck_encoder(home, stop_after, pipe)
    KnowledgeBase.repair(root, encoder=encoder)


@pytest.mark.slow
def test_a_killed_repair_does_not_encode_its_finished_part_again(
    copy: Callable[[str], Path], encoder: CountingEncoder, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = copy("edges")
    shutil.rmtree(root / "snapshots" / "000001")
    before = contents(root)
    removed(live_folder(root) / "vectors" / "strings.arrow")
    done = 0
    for stop_after in KILLS:
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        child = context.Process(target=repair_until, args=(root, home, stop_after, theirs))
        child.start()
        theirs.close()
        assert ours.poll(240)
        encoded = int(ours.recv())
        child.kill()
        child.join(timeout=60)
        assert child.exitcode == -signal.SIGKILL
        child.close()
        ours.close()
        assert encoded > 0
        done += encoded
        assert wrong(root) == [f"{live_folder(root).relative_to(root)}/vectors/strings.arrow"]
        with pytest.raises(SnapshotError, match="run `ytrag repair --kb"):
            Snapshot.open(root)
    monkeypatch.setattr(reuse, "_BLOCK_TOKENS", BLOCK_TOKENS)
    report = repair(root, encoder)
    assert report.build is not None
    assert report.build.encoded_strings == len(encoder.encoded) == 81 - done
    assert not wrong(root)
    assert not report.lost
    assert json_counts(before) == json_counts(contents(root))


def json_counts(files: dict[str, bytes]) -> bytes:
    content = files["manifest.json"]
    return content[: content.index(b'"encoder"')]


@pytest.mark.parametrize("megabytes", [1, 2])
def test_a_full_disk_leaves_what_can_be_repaired_later(
    copy: Callable[[str], Path], encoder: CountingEncoder, tmp_path: Path, megabytes: int
) -> None:
    root = copy("documents")
    shutil.rmtree(root / "snapshots" / "000001")
    before = contents(root)
    with small_file_system(tmp_path / "disk", megabytes) as disk:
        small = disk / "kb"
        shutil.copytree(root, small)
        ruin(small)
        filler = disk / "filler"
        free = shutil.disk_usage(disk).free
        filler.write_bytes(bytes(max(free - 16_384, 0)))
        with pytest.raises(SnapshotError, match="no space left"):
            repair(small, encoder)
        state = set(wrong(small))
        assert state
        filler.unlink()
        if shutil.disk_usage(disk).free < 2_000_000:
            subprocess.run(["mount", "-o", "remount,size=16m", disk], check=True)
        report = repair(small, encoder)
        assert not report.lost
        assert contents(small) == before
        assert not wrong(small)


def test_a_read_only_disk_can_be_verified_only(
    copy: Callable[[str], Path], encoder: CountingEncoder, tmp_path: Path
) -> None:
    root = copy("openie")
    with small_file_system(tmp_path / "disk", 16) as disk:
        shutil.copytree(root, disk / "kb")
        flipped(live_folder(disk / "kb") / "graph.arrow")
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        files = sorted((disk / "kb").rglob("*"))
        assert wrong(disk / "kb") == ["snapshots/000002/graph.arrow"]
        with pytest.raises(WriteError, match="writable directory"):
            repair(disk / "kb", encoder)
        assert sorted((disk / "kb").rglob("*")) == files
