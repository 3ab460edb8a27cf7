"""Blocks of vectors beside the snapshots: whole or not there, checked when opened, never of two encoders."""

from __future__ import annotations

import logging
import os
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.disks import photograph, small_file_system
from ytrag_core.errors import SnapshotError
from ytrag_core.storage.arrays import read_metadata, write_arrays
from ytrag_core.storage.snapshot import Snapshot
from ytrag_core.storage.vector_store import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

D = 8


def rows(n: int, seed: int) -> tuple[NDArray[np.uint64], NDArray[np.float16]]:
    rng = np.random.default_rng(seed)
    return rng.integers(0, 1 << 63, (n, 2), np.uint64), rng.random((n, D)).astype(np.float16)


def store_of(root: Path, fingerprint: str = "one") -> VectorStore:
    return VectorStore(root, fingerprint, D)


def contents(store: VectorStore) -> list[tuple[str, bytes, bytes]]:
    return [(block.name, block.hashes.tobytes(), block.vectors.tobytes()) for block in store.blocks()]


def test_blocks_come_back_as_they_were_written(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    assert store.blocks() == []
    written = [rows(n, n) for n in (5, 1, 40)]
    names = [store.append(*block) for block in written]
    assert names == ["000001.arrow", "000002.arrow", "000003.arrow"]
    found = store_of(tmp_path).blocks()
    assert [block.name for block in found] == names
    for block, (hashes, vectors) in zip(found, written, strict=True):
        assert_array_equal(block.hashes, hashes)
        assert_array_equal(block.vectors, vectors)
        assert not block.vectors.flags.writeable
    assert read_metadata(store.folder / names[0])["fingerprint"] == "one"


def test_dropped_blocks_are_gone_and_their_folder_with_the_last(tmp_path: Path) -> None:
    store = store_of(tmp_path)
    names = [store.append(*rows(3, seed)) for seed in range(3)]
    (store.folder / ".000009.arrow.partial").write_bytes(b"half")
    store.drop([names[0], "000077.arrow"])
    assert [block.name for block in store.blocks()] == names[1:]
    assert len(list(store.folder.iterdir())) == 2
    assert store.append(*rows(3, 4)) == "000004.arrow"
    store.drop([*names, "000004.arrow"])
    assert not (tmp_path / "vectors").exists()
    store.drop(names)


def flipped(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


DAMAGE: dict[str, Callable[[Path], Any]] = {
    "a flipped bit of a vector": lambda path: flipped(
        path, path.read_bytes().index(rows(64, 2)[1][7].tobytes())
    ),
    "a flipped bit of a hash": lambda path: flipped(
        path, path.read_bytes().index(rows(64, 2)[0][7].tobytes())
    ),
    "a cut file": lambda path: os.truncate(path, path.stat().st_size // 2),
    "an empty file": lambda path: os.truncate(path, 0),
    "another kind of file": lambda path: path.write_text("hello"),
    "no checksum": lambda path: write_arrays(
        path, dict(zip(("hashes", "vectors"), rows(64, 2), strict=True)), {"fingerprint": "one"}
    ),
    "other arrays": lambda path: write_arrays(path, {"hashes": rows(64, 2)[0]}),
    "another width": lambda path: write_arrays(
        path, {"hashes": rows(4, 2)[0], "vectors": np.ones((4, 3), np.float16)}
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_block_is_told_and_left_out(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_of(tmp_path)
    for seed in (1, 2, 3):
        store.append(*rows(64, seed))
    whole = contents(store)
    DAMAGE[kind](store.folder / "000002.arrow")
    with caplog.at_level(logging.WARNING):
        assert contents(store) == [whole[0], whole[2]]
    assert "000002.arrow" in caplog.text
    assert "encoded again" in caplog.text
    assert store.damaged == ["000002.arrow"]


def test_a_block_of_another_encoder_is_refused(tmp_path: Path) -> None:
    one, other = store_of(tmp_path), store_of(tmp_path, "other")
    one.append(*rows(3, 1))
    other.append(*rows(3, 2))
    assert one.folder != other.folder
    assert len(one.blocks()) == len(other.blocks()) == 1
    shutil.copy(other.folder / "000001.arrow", one.folder / "000002.arrow")
    with pytest.raises(
        SnapshotError, match=r"000002\.arrow holds vectors of the encoder 'other' among .*'one'"
    ):
        one.blocks()
    (one.folder / "000002.arrow").unlink()
    assert len(one.blocks()) == 1


def test_an_interrupted_first_build_with_a_store_can_be_taken_up(tmp_path: Path) -> None:
    from ytrag_core.storage.snapshot import SnapshotWriter

    with SnapshotWriter(tmp_path / "kb"):
        store_of(tmp_path / "kb").append(*rows(3, 1))
    with pytest.raises(SnapshotError, match="its first build was interrupted"):
        Snapshot.open(tmp_path / "kb")
    with SnapshotWriter(tmp_path / "kb"):
        assert len(store_of(tmp_path / "kb").blocks()) == 1


WATCHED = ("fsync", "replace", "mkdir", "unlink")


def test_every_step_of_a_write_may_be_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "kb"
    root.mkdir()
    store = store_of(root)
    names: list[str] = []

    def run() -> None:
        names.extend(store.append(*rows(9, seed)) for seed in (1, 2))
        store.drop(names[:1])

    images = photograph(root, tmp_path / "images", monkeypatch, WATCHED, run)
    wanted = {name: rows(9, seed) for seed, name in enumerate(names, start=1)}
    seen = set()
    for image in images:
        found = store_of(image).blocks()
        for block in found:
            assert_array_equal(block.vectors, wanted[block.name][1])
        seen.add(tuple(block.name for block in found))
        again = store_of(image)
        again.drop([again.append(*rows(2, 9))])
        assert not list(image.rglob("*.partial"))
    assert seen == {(), (names[0],), tuple(names)}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a file system of 2 MB of its own, or skip."""
    with small_file_system(tmp_path / "disk", 2) as folder:
        yield folder


def test_a_full_disk_is_told_and_loses_no_block(small_disk: Path) -> None:
    store = store_of(small_disk)
    store.append(*rows(10_000, 1))
    before = contents(store)
    with pytest.raises(SnapshotError, match=r"no space left while writing .*free some and run again"):
        store.append(*rows(100_000, 2))
    assert contents(store) == before
    assert [path.name for path in store.folder.iterdir()] == ["000001.arrow"]
    store.append(*rows(1_000, 3))
    assert len(store.blocks()) == 2


def test_metadata_is_read_back_and_does_not_change_what_is_mapped(tmp_path: Path) -> None:
    write_arrays(tmp_path / "plain.arrow", {"x": np.arange(3)})
    write_arrays(tmp_path / "said.arrow", {"x": np.arange(3)}, {"colour": "grün"})
    assert read_metadata(tmp_path / "plain.arrow") == {}
    assert read_metadata(tmp_path / "said.arrow") == {"colour": "grün"}
