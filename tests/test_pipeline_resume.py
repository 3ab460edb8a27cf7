"""Unique strings are encoded once, ever: over kills, changes taken back, and other knowledge bases."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import os
import random
import resource
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bases import live_folder
from tests.disks import photograph
from tests.tiny_bases import (
    CountingEncoder,
    live_hashes,
    name_of,
    stored_hashes,
    stuck_encoder,
    tiny_encoder,
    write_names,
)
from ytrag_core.embedding import reuse
from ytrag_core.embedding.reuse import text_hashes
from ytrag_core.errors import ConfigError, SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.pipeline.vector_cache import VectorCache
from ytrag_core.pipeline.vectors import TextEncoder
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection
    from pathlib import Path

    from ytrag_core.pipeline.report import BuildReport

BLOCK_TOKENS = 250
N_NAMES = 300
RELATION = "born in"


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reuse, "_BLOCK_TOKENS", BLOCK_TOKENS)


@pytest.fixture
def encoder(tmp_path: Path) -> CountingEncoder:
    return tiny_encoder(tmp_path)


def build(root: Path, folder: Path, encoder: CountingEncoder, borrowed: Path | None = None) -> BuildReport:
    encoder.encoded.clear()
    report = KnowledgeBase.build(
        root, [folder], format="edges", encoder=encoder, replace=True, reuse_vectors=borrowed
    )
    assert report.encoded_strings == len(encoder.encoded)
    return report


def names(*numbers: int) -> list[str]:
    return [name_of(number) for number in numbers]


def graph_files(root: Path) -> dict[str, bytes]:
    folder = live_folder(root)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("[!.]*")
        if path.is_file() and path.name != "manifest.json"
    }


def import_until(root: Path, folder: Path, home: Path, stop_after: int, pipe: Connection) -> None:
    """Import, tell of each block that is about to be encoded, and wait for ever before one."""
    reuse._BLOCK_TOKENS = BLOCK_TOKENS
    encoder = stuck_encoder(home, stop_after, pipe)
    build(root, folder, encoder)


def kill_after_blocks(root: Path, folder: Path, home: Path, n_blocks: int) -> int:
    """Import in a process of its own, kill it before a block; return how many strings it encoded."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=import_until, args=(root, folder, home, n_blocks, theirs))
    child.start()
    theirs.close()
    assert ours.poll(900)
    n_encoded = int(ours.recv())
    child.kill()
    child.join(timeout=60)
    assert child.exitcode == -signal.SIGKILL
    child.close()
    ours.close()
    return n_encoded


@pytest.mark.usefixtures("small_blocks")
def test_a_killed_import_does_not_encode_its_finished_part_again(
    tmp_path: Path, encoder: CountingEncoder
) -> None:
    folder = write_names(tmp_path / "graph", names(*range(N_NAMES)))
    root = tmp_path / "kb"
    first = kill_after_blocks(root, folder, tmp_path, 3)
    assert 0 < first < N_NAMES
    assert len(stored_hashes(root, encoder)) == first
    second = kill_after_blocks(root, folder, tmp_path, 2)
    assert 0 < second < N_NAMES - first
    with pytest.raises(SnapshotError, match="interrupted"):
        Snapshot.open(root)
    report = build(root, folder, encoder)
    done = first + second
    assert (report.encoded_strings, report.reused_strings) == (N_NAMES + 1 - done + N_NAMES, done)
    assert not (root / "vectors").exists()
    build(tmp_path / "at_once", folder, encoder)
    assert graph_files(root) == graph_files(tmp_path / "at_once")
    assert build(root, folder, encoder).encoded_strings == 0


def changed(numbers: Sequence[int], share: float, offset: int, rng: random.Random) -> list[int]:
    picked = set(rng.sample(range(len(numbers)), int(share * len(numbers))))
    return [number + offset if at in picked else number for at, number in enumerate(numbers)]


def test_only_changed_names_are_encoded_and_old_ones_are_kept(
    tmp_path: Path, encoder: CountingEncoder
) -> None:
    root = tmp_path / "kb"
    before = list(range(N_NAMES))
    after = changed(before, 0.1, 5_000, random.Random(3))
    folders = [write_names(tmp_path / str(i), names(*numbers)) for i, numbers in enumerate((before, after))]
    build(root, folders[0], encoder)
    first = graph_files(root)
    build(root, folders[1], encoder)
    new = {name_of(number) for number in after} - {name_of(number) for number in before}
    assert len(new) == N_NAMES // 10
    assert all(any(name in text for name in new) for text in encoder.encoded)
    assert new < set(encoder.encoded)
    check_once(root, encoder)
    assert {tuple(pair) for pair in text_hashes(names(*range(N_NAMES))).tolist()} <= live_hashes(root) | set(
        stored_hashes(root, encoder)
    )
    assert build(root, folders[0], encoder).encoded_strings == 0
    assert graph_files(root) == first
    check_once(root, encoder)
    assert build(root, folders[1], encoder).encoded_strings == 0


def check_once(root: Path, encoder: CountingEncoder) -> None:
    """No vector is in the store twice, or beside the snapshot that has it."""
    stored = stored_hashes(root, encoder)
    assert len(set(stored)) == len(stored)
    assert not live_hashes(root).intersection(stored)


@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(states=st.lists(st.sets(st.integers(0, 12), min_size=1, max_size=8), min_size=2, max_size=5))
def test_whatever_comes_and_goes_is_encoded_once(
    tmp_path_factory: pytest.TempPathFactory, states: list[set[int]]
) -> None:
    home = tmp_path_factory.mktemp("states")
    encoder = tiny_encoder(home)
    ever: list[str] = []
    for number, state in enumerate(states):
        folder = write_names(home / str(number), names(*sorted(state)))
        build(home / "kb", folder, encoder)
        ever += encoder.encoded
        check_once(home / "kb", encoder)
    assert len(set(ever)) == len(ever)
    known = live_hashes(home / "kb") | set(stored_hashes(home / "kb", encoder))
    assert known == {(first, second) for first, second in text_hashes(ever).tolist()}


@pytest.mark.usefixtures("small_blocks")
def test_a_damaged_block_is_encoded_again(
    tmp_path: Path, encoder: CountingEncoder, caplog: pytest.LogCaptureFixture
) -> None:
    folder = write_names(tmp_path / "graph", names(*range(N_NAMES)))
    root = tmp_path / "kb"
    interrupt(root, folder, encoder, after=3)
    blocks = sorted((root / "vectors").rglob("*.arrow"))
    assert len(blocks) == 3
    n_stored = len(stored_hashes(root, encoder))
    content = bytearray(blocks[1].read_bytes())
    content[len(content) // 2] ^= 1
    blocks[1].write_bytes(content)
    with caplog.at_level(logging.WARNING):
        report = build(root, folder, encoder)
    assert str(blocks[1]) in caplog.text
    assert 0 < report.reused_strings < n_stored
    assert not (root / "vectors").exists()
    assert build(root, folder, encoder).encoded_strings == 0


class StoppedError(Exception):
    """What ends a build from within."""


def interrupt(root: Path, folder: Path, encoder: CountingEncoder, after: int) -> None:
    n_blocks = 0

    def before_each(_: int) -> None:
        nonlocal n_blocks
        n_blocks += 1
        if n_blocks > after:
            raise StoppedError

    encoder.before_each = before_each
    with pytest.raises(StoppedError):
        build(root, folder, encoder)
    encoder.before_each = None


@pytest.mark.usefixtures("small_blocks")
def test_a_full_disk_is_told_and_finished_blocks_stay(
    tmp_path: Path, encoder: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_names(tmp_path / "graph", names(*range(N_NAMES)))
    root = tmp_path / "kb"
    real, n_blocks = os.replace, 0

    def replace(source: Any, target: Any) -> None:
        nonlocal n_blocks
        if str(target).endswith(".arrow"):
            n_blocks += 1
            if n_blocks == 3:
                raise OSError(errno.ENOSPC, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", replace)
        with pytest.raises(SnapshotError, match="no space left while writing"):
            build(root, folder, encoder)
    stored = stored_hashes(root, encoder)
    assert 0 < len(stored) < N_NAMES
    assert not list(root.rglob("*.partial"))
    report = build(root, folder, encoder)
    assert report.reused_strings == len(stored)


WATCHED = ("replace", "rename", "unlink", "rmdir", "mkdir")


@pytest.mark.usefixtures("small_blocks")
def test_every_step_of_a_build_may_be_the_last(
    tmp_path: Path, encoder: CountingEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment, no string that was on the disk is lost, and none stays there twice."""
    root = tmp_path / "kb"
    before = list(range(60))
    after = [*range(20, 60), *range(5_000, 5_020)]
    folders = [write_names(tmp_path / str(i), names(*numbers)) for i, numbers in enumerate((before, after))]
    build(root, folders[0], encoder)
    ever = live_hashes(root)
    images = photograph(
        root, tmp_path / "images", monkeypatch, WATCHED, lambda: build(root, folders[1], encoder)
    )
    assert len(images) > 12
    numbers = set()
    for image in images[:: max(1, len(images) // 16)] + images[-4:]:
        if not image.exists():
            continue
        on_disk = live_hashes(image) | set(stored_hashes(image, encoder))
        assert ever <= on_disk
        numbers.add(Snapshot.open(image).number)
        build(image, folders[1], encoder)
        assert len(encoder.encoded) == len(live_hashes(image) - on_disk)
        check_once(image, encoder)
        assert build(image, folders[0], encoder).encoded_strings == 0
        check_once(image, encoder)
        shutil.rmtree(image)
    assert numbers == {1, 2}


def test_vectors_of_another_knowledge_base_are_borrowed(tmp_path: Path, encoder: CountingEncoder) -> None:
    numbers = list(range(40))
    build(tmp_path / "other", write_names(tmp_path / "a", names(*numbers)), encoder)
    build(tmp_path / "other", write_names(tmp_path / "b", names(*numbers[10:])), encoder)
    before = {path: path.read_bytes() for path in sorted((tmp_path / "other").rglob("*")) if path.is_file()}
    report = build(tmp_path / "kb", tmp_path / "a", encoder, tmp_path / "other")
    assert report.encoded_strings == 0
    assert report.reused_strings > 40
    after = {path: path.read_bytes() for path in sorted((tmp_path / "other").rglob("*")) if path.is_file()}
    assert after == before
    build(tmp_path / "fresh", tmp_path / "a", encoder)
    assert graph_files(tmp_path / "kb") == graph_files(tmp_path / "fresh")
    shutil.rmtree(tmp_path / "other")
    assert build(tmp_path / "kb", tmp_path / "a", encoder).encoded_strings == 0
    assert build(tmp_path / "kb", tmp_path / "a", encoder, tmp_path / "kb").encoded_strings == 0


def test_what_cannot_be_borrowed_is_refused(tmp_path: Path, encoder: CountingEncoder) -> None:
    folder = write_names(tmp_path / "a", names(1, 2, 3))
    other = tiny_encoder(tmp_path, seed=5)
    build(tmp_path / "other", folder, other)
    with pytest.raises(ConfigError) as caught:
        build(tmp_path / "kb", folder, encoder, tmp_path / "other")
    assert encoder.fingerprint in str(caught.value)
    assert other.fingerprint in str(caught.value)
    with pytest.raises(SnapshotError, match="there is no knowledge base"):
        build(tmp_path / "kb", folder, encoder, tmp_path / "nowhere")
    assert build(tmp_path / "kb", folder, encoder).snapshot == "000001"


def test_another_encoder_is_refused_and_the_way_is_shown(tmp_path: Path, encoder: CountingEncoder) -> None:
    folder = write_names(tmp_path / "a", names(1, 2, 3))
    build(tmp_path / "kb", folder, encoder)
    other = tiny_encoder(tmp_path, seed=5)
    with pytest.raises(ConfigError, match="ytrag reembed") as caught:
        build(tmp_path / "kb", folder, other)
    assert encoder.fingerprint in str(caught.value)
    assert other.fingerprint in str(caught.value)
    assert Snapshot.open(tmp_path / "kb").number == 1


def peak_bytes_by_size(home: Path, sizes: list[int], pipe: Connection) -> None:
    """Encode so many names each, and tell of the process's peak memory after each."""
    encoder = tiny_encoder(home)
    peaks = []
    for size in sizes:
        with SnapshotWriter(home / f"kb{size}") as writer:
            text_encoder = TextEncoder(encoder, VectorCache(writer, encoder))
            text_encoder.encode([f"{name_of(number)} {size}" for number in range(size)])
        encoder.encoded.clear()
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    pipe.send(peaks)


def test_memory_grows_by_strings_hashes_and_vectors_only(tmp_path: Path) -> None:
    sizes = [40_000, 120_000]
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=peak_bytes_by_size, args=(tmp_path, sizes, theirs))
    child.start()
    theirs.close()
    assert ours.poll(1800)
    small, large = ours.recv()
    child.join(timeout=60)
    child.close()
    ours.close()
    assert (large - small) / (sizes[1] - sizes[0]) < 700
