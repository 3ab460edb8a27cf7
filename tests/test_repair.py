"""Each file of a knowledge base damaged in turn: it is found, told, and made again."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.bases import live_folder, write_facts, write_lines
from tests.tiny_bases import name_of, tiny_encoder, write_names
from ytrag_core.errors import LockedError, NewerFormatError, SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.arrays import write_arrays
from ytrag_core.storage.mending import locked
from ytrag_core.storage.snapshot import Snapshot, SnapshotWriter
from ytrag_core.storage.vector_store import VectorStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from _pytest.raises import RaisesExc

    from tests.tiny_bases import CountingEncoder
    from ytrag_core.pipeline.repair_report import RepairReport
    from ytrag_core.retrieval.model import Evidence

FACTS = [
    ("Ada Voss", "born in", "Quellmouth"),
    ("Quellmouth", "lies on", "Lathmere Sea"),
    ("Ada Voss", "founded", "Heron Press"),
    ("Heron Press", "printed", "The Drowned Almanac"),
    ("Bram Ilder", "taught", "Ada Voss"),
    ("Bram Ilder", "born in", "Ismarra"),
    ("林秀", "出生于", "青石镇"),
    ("青石镇", "位于", "云江"),
]
QUESTION = "Where was the teacher of Ada Voss born?"
KINDS = ("openie", "documents", "edges")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repair")


@pytest.fixture(scope="module")
def encoder(home: Path) -> CountingEncoder:
    return tiny_encoder(home)


@pytest.fixture(scope="module")
def bases(home: Path, encoder: CountingEncoder) -> dict[str, Path]:
    """Return a knowledge base of two snapshots for each way in."""
    made = {}
    for kind in KINDS:
        root = made[kind] = home / kind
        for state, n_facts in enumerate((6, len(FACTS))):
            KnowledgeBase.build(
                root,
                [_source(home / f"{kind}{state}", kind, n_facts)],
                format=kind,  # type: ignore[arg-type]
                encoder=encoder,
                replace=kind == "edges",
            )
    return made


def _source(folder: Path, kind: str, n_facts: int) -> Path:
    if kind == "openie":
        return write_facts(folder, FACTS[:n_facts])
    if kind == "edges":
        return write_names(folder, [name_of(number) for number in range(10 * n_facts)])
    records = [
        {
            "id": f"r{row}",
            "title": head,
            "text": f"{head} {relation} {tail}. It is told of {head}.",
            "at": row,
        }
        for row, (head, relation, tail) in enumerate(FACTS[:n_facts])
    ]
    write_lines(folder / "records.jsonl", records)
    (folder / "note.md").write_text(
        "# Harbours\n\nBram Ilder built the harbour of Ismarra.\n\n## Quays\n\nThe quays are old.\n"
    )
    return folder


@pytest.fixture
def copy(bases: dict[str, Path], tmp_path: Path) -> Callable[[str], Path]:
    """Return what copies one of the bases to a place where it may be damaged."""

    def make(kind: str) -> Path:
        shutil.copytree(bases[kind], tmp_path / "kb")
        Snapshot.open(tmp_path / "kb", verify="full")
        return tmp_path / "kb"

    return make


def truncated(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def removed(path: Path) -> None:
    path.unlink()


DAMAGES = {"truncated": truncated, "flipped": flipped, "removed": removed}


def answers(root: Path, encoder: CountingEncoder) -> Evidence:
    """Check all checksums, and return what a question finds."""
    Snapshot.open(root, verify="full")
    question = QUESTION if "edges" not in _formats(root) else name_of(3)
    evidence = KnowledgeBase.open(root, encoder=encoder).retrieve(question)
    return replace(evidence, timings_ms={})


def _formats(root: Path) -> set[str]:
    return {
        entry["format"] for entry in json.loads((live_folder(root) / "manifest.json").read_text())["sources"]
    }


def contents(root: Path) -> dict[str, bytes]:
    """Return every file of the live snapshot."""
    folder = live_folder(root)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".verified"
    }


def refused(root: Path) -> RaisesExc[SnapshotError]:
    """Expect the error that names the command."""
    return pytest.raises(SnapshotError, match=f"run `ytrag repair --kb {root}`")


def wrong(root: Path) -> list[str]:
    return [file.path for file in KnowledgeBase.verify(root).wrong]


def repair(root: Path, encoder: CountingEncoder, **options: Any) -> RepairReport:
    encoder.encoded.clear()
    return KnowledgeBase.repair(root, encoder=encoder, **options)


@pytest.mark.parametrize(
    "damage", ["in turn", *(pytest.param(damage, marks=pytest.mark.slow) for damage in DAMAGES)]
)
@pytest.mark.parametrize("kind", KINDS)
def test_each_file_of_a_snapshot_is_found_and_made_again(
    copy: Callable[[str], Path], encoder: CountingEncoder, kind: str, damage: str
) -> None:
    root = copy(kind)
    before, answer = contents(root), answers(root, encoder)
    place = live_folder(root).relative_to(root).as_posix()
    assert not wrong(root)
    for turn, name in enumerate(before):
        how = [*DAMAGES][turn % len(DAMAGES)] if damage == "in turn" else damage
        DAMAGES[how](root / place / name)
        assert wrong(root) == [f"{place}/{name}"]
        with pytest.raises(SnapshotError, match=f"run `ytrag repair --kb {root}`"):
            KnowledgeBase.open(root, encoder=encoder)
        report = repair(root, encoder)
        assert report.in_place
        assert not report.lost
        assert [file.path for file in report.files] == [f"{place}/{name}"]
        assert contents(root) == before, name
        assert not wrong(root)
        assert len(encoder.encoded) == 0 or name.startswith("vectors/")
        if how != "removed":
            (kept,) = [path for path in (root / "damaged").rglob("*") if path.is_file()]
            assert kept.relative_to(root / report.aside).as_posix() == f"{place}/{name}"
            shutil.rmtree(root / "damaged")
    assert answers(root, encoder) == answer
    assert not repair(root, encoder).files


def test_a_lost_or_damaged_current_is_written_again(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("openie")
    before = contents(root)
    for content in (None, b"", b"00000x\n", b"000009\n"):
        (root / "CURRENT").unlink()
        if content is not None:
            (root / "CURRENT").write_bytes(content)
        assert wrong(root) == ["CURRENT"]
        with pytest.raises(SnapshotError, match="run `ytrag repair --kb"):
            KnowledgeBase.open(root, encoder=encoder)
        with pytest.raises(SnapshotError, match="run `ytrag repair --kb"):
            KnowledgeBase.build(root, [root.parent], encoder=encoder)
        assert [file.path for file in repair(root, encoder).files] == ["CURRENT"]
        assert contents(root) == before


def damaged_pages(path: Path, pages: Sequence[int]) -> None:
    content = bytearray(path.read_bytes())
    for page in pages:
        content[page * 4096 : page * 4096 + 4096] = bytes([0xA5]) * len(
            content[page * 4096 : page * 4096 + 4096]
        )
    path.write_bytes(content)


META_DAMAGES: dict[str, Callable[[Path], object]] = {
    "removed": removed,
    "empty": lambda path: path.write_bytes(b""),
    "truncated": truncated,
    "first page": lambda path: damaged_pages(path, [0]),
    "every second page": lambda path: damaged_pages(path, range(1, path.stat().st_size // 4096, 2)),
    "no database": lambda path: path.write_bytes(b"\0" * 20_000),
}


@pytest.mark.parametrize("damage", META_DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_store_is_saved_and_filled_up(
    copy: Callable[[str], Path], encoder: CountingEncoder, home: Path, kind: str, damage: str
) -> None:
    root = copy(kind)
    before, answer = contents(root), answers(root, encoder)
    META_DAMAGES[damage](root / "meta.sqlite")
    assert wrong(root) == ["meta.sqlite"]
    with suppress(SnapshotError) if (kind, damage) == ("edges", "empty") else refused(root):
        KnowledgeBase.build(root, [home / f"{kind}1"], format=kind, encoder=encoder)  # type: ignore[arg-type]
    if not wrong(root):
        return
    assert contents(root) == before
    report = repair(root, encoder)
    assert report.in_place
    assert not report.lost
    assert not encoder.encoded
    assert not wrong(root)
    assert contents(root) == before
    if damage != "removed":
        assert (root / report.aside / "meta.sqlite").is_file()
    truncated(live_folder(root) / "triples.parquet")
    report = repair(root, encoder)
    assert not wrong(root)
    assert answers(root, encoder).triples == answer.triples
    again = KnowledgeBase.build(root, [home / f"{kind}1"], format=kind, encoder=encoder)  # type: ignore[arg-type]
    assert again.counts == json.loads(before["manifest.json"])["counts"]
    assert answers(root, encoder) == answer


def test_a_passage_that_decayed_in_the_store_is_had_back(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("documents")
    before = contents(root)
    path = root / "meta.sqlite"
    content = path.read_bytes()
    assert content.count(b"Ada Voss founded Heron Press") >= 1
    path.write_bytes(content.replace(b"Ada Voss founded Heron Press", b"Ada Voss floated Heron Press"))
    assert wrong(root) == ["meta.sqlite"]
    report = repair(root, encoder)
    assert not report.lost
    assert not wrong(root)
    removed(live_folder(root) / "chunks.parquet")
    repair(root, encoder)
    assert contents(root) == before


def test_decay_without_a_trace_is_refused_once_it_was_found(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("openie")
    path = live_folder(root) / "mentions.parquet"
    status = path.stat()
    flipped(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    KnowledgeBase.open(root, encoder=encoder)
    assert wrong(root) == [path.relative_to(root).as_posix()]
    with refused(root):
        KnowledgeBase.open(root, encoder=encoder)


def test_an_older_snapshot_is_mended_by_the_live_one_or_put_aside(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("openie")
    older = root / "snapshots" / "000001"
    live = root / "snapshots" / "000002"
    shared = [
        path.relative_to(live).as_posix()
        for path in live.rglob("*")
        if path.is_file() and (older / path.relative_to(live)).read_bytes() == path.read_bytes()
    ]
    assert shared
    before = contents(root)
    truncated(older / shared[0])
    report = repair(root, encoder)
    assert [file.path for file in report.files] == [f"snapshots/000001/{shared[0]}"]
    assert not wrong(root)
    truncated(older / "graph.arrow")
    report = repair(root, encoder)
    assert not older.exists()
    assert report.in_place
    assert contents(root) == before
    assert not wrong(root)
    assert (root / report.aside / "snapshots" / "000001" / "manifest.json").is_file()


def test_damaged_blocks_of_vectors_are_put_aside(
    copy: Callable[[str], Path], encoder: CountingEncoder, home: Path
) -> None:
    root = copy("edges")
    KnowledgeBase.build(root, [home / "edges0"], format="edges", encoder=encoder, replace=True)
    store = VectorStore(root, encoder.fingerprint, encoder.dimension)
    blocks = sorted(store.folder.glob("*.arrow"))
    assert blocks
    flipped(blocks[0])
    (store.folder / "000009.arrow").write_bytes(b"no block")
    assert wrong(root) == sorted(
        path.relative_to(root).as_posix() for path in (blocks[0], store.folder / "000009.arrow")
    )
    report = repair(root, encoder)
    assert len(report.aside_paths) == 2
    assert not wrong(root)
    encoder.encoded.clear()
    KnowledgeBase.build(root, [home / "edges1"], format="edges", encoder=encoder, replace=True)
    assert encoder.encoded


def test_links_are_replaced_by_files(copy: Callable[[str], Path], encoder: CountingEncoder) -> None:
    root = copy("openie")
    before, live = contents(root), live_folder(root)
    (live / "vectors").rename(root.parent / "elsewhere")
    (live / "vectors").symlink_to(root.parent / "elsewhere")
    (live / "graph.arrow").rename(root.parent / "graph")
    (live / "graph.arrow").symlink_to(root.parent / "graph")
    (root / "snapshots" / "000001").rename(root.parent / "first")
    (root / "snapshots" / "000001").symlink_to(root.parent / "first")
    repair(root, encoder)
    assert not (live / "vectors").is_symlink()
    assert not (root / "snapshots" / "000001").is_symlink()
    assert not wrong(root)
    assert contents(root) == before
    assert len(list((root.parent / "elsewhere").iterdir())) == 5
    assert (root.parent / "graph").is_file()


def test_everything_at_once(copy: Callable[[str], Path], encoder: CountingEncoder) -> None:
    root = copy("documents")
    before, answer = contents(root), answers(root, encoder)
    live = live_folder(root)
    for name in ("manifest.json", "entities.parquet", "graph.arrow", "bm25/vocab.index.json"):
        flipped(live / name)
    removed(live / "vectors" / "strings.arrow")
    removed(root / "CURRENT")
    shutil.rmtree(root / "snapshots" / "000001" / "bm25")
    assert len(wrong(root)) > 6
    report = repair(root, encoder)
    assert not report.lost
    assert contents(root) == before
    assert answers(root, encoder) == answer
    assert not wrong(root)


def test_a_snapshot_whose_folder_is_gone_is_built_again_from_the_store(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("documents")
    counts, answer = json.loads(contents(root)["manifest.json"])["counts"], answers(root, encoder)
    shutil.rmtree(root / "snapshots")
    assert wrong(root)
    report = repair(root, encoder)
    assert not report.lost
    assert not wrong(root)
    assert json.loads(contents(root)["manifest.json"])["counts"] == counts
    assert answers(root, encoder) == answer


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("with_older", [True, False])
def test_a_manifest_without_a_copy(
    copy: Callable[[str], Path], encoder: CountingEncoder, kind: str, with_older: bool
) -> None:
    root = copy(kind)
    answer, counts = answers(root, encoder), json.loads(contents(root)["manifest.json"])["counts"]
    with closing(sqlite3.connect(root / "meta.sqlite")) as connection:
        connection.execute("DROP TABLE snapshot_manifests")
    if not with_older:
        shutil.rmtree(root / "snapshots" / "000001")
    truncated(live_folder(root) / "manifest.json")
    report = repair(root, encoder)
    assert report.snapshot == "000003"
    assert not report.in_place
    assert not report.lost
    assert not wrong(root)
    assert json.loads(contents(root)["manifest.json"])["counts"] == counts
    assert answers(root, encoder) == answer


def test_tables_of_a_graph_come_from_its_folder_or_the_snapshot_before(
    copy: Callable[[str], Path], encoder: CountingEncoder, home: Path, tmp_path: Path
) -> None:
    root = copy("edges")
    before = contents(root)
    (home / "edges1").rename(home / "moved")
    try:
        truncated(live_folder(root) / "entities.parquet")
        shutil.copytree(root, tmp_path / "twin")
        report = repair(root, encoder, source=home / "moved")
        assert contents(root) == before
        report = repair(tmp_path / "twin", encoder)
    finally:
        (home / "moved").rename(home / "edges1")
    assert report.lost
    assert report.snapshot == "000001"
    assert not wrong(tmp_path / "twin")
    assert KnowledgeBase.open(tmp_path / "twin", encoder=encoder).view.n_entities == 60
    shutil.rmtree(tmp_path / "twin" / "damaged")
    truncated(live_folder(tmp_path / "twin") / "entities.parquet")
    (home / "edges0").rename(home / "moved")
    try:
        with pytest.raises(SnapshotError, match="--source FOLDER"):
            repair(tmp_path / "twin", encoder)
    finally:
        (home / "moved").rename(home / "edges0")


def test_newer_formats_and_other_places_are_left_alone(
    copy: Callable[[str], Path], encoder: CountingEncoder, tmp_path: Path
) -> None:
    root = copy("openie")
    path = live_folder(root) / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format_version": 2}))
    for act in (KnowledgeBase.verify, lambda root: repair(root, encoder)):
        with pytest.raises(NewerFormatError, match="upgrade ytrag"):
            act(root)
    (tmp_path / "home" / "snapshots" / "000001").mkdir(parents=True)
    (tmp_path / "home" / "snapshots" / "000001" / "mine").write_text("mine")
    for place, why in (("none", "does not exist"), ("home", "is not a knowledge base")):
        for act in (KnowledgeBase.verify, lambda root: repair(root, encoder)):
            with pytest.raises(SnapshotError, match=why):
                act(tmp_path / place)
    assert [path.name for path in (tmp_path / "home").rglob("*") if path.is_file()] == ["mine"]


def test_another_writer_is_not_disturbed(copy: Callable[[str], Path], encoder: CountingEncoder) -> None:
    root = copy("openie")
    truncated(live_folder(root) / "graph.arrow")
    with locked(root):
        assert KnowledgeBase.verify(root).is_written
        with pytest.raises(LockedError, match=r"being written by another process \(pid "):
            repair(root, encoder)
    assert not KnowledgeBase.verify(root).is_written
    repair(root, encoder)
    assert not wrong(root)


def test_a_first_build_that_runs_is_not_called_interrupted(
    encoder: CountingEncoder, home: Path, tmp_path: Path
) -> None:
    root = tmp_path / "first"
    other = tmp_path / "other"
    with SnapshotWriter(root):
        why = r"has no finished snapshot yet: its first build is running \(pid \d+\); wait for it to end"
        with pytest.raises(SnapshotError, match=why):
            KnowledgeBase.reembed(root, encoder=encoder)
        with pytest.raises(SnapshotError, match=why):
            KnowledgeBase.build(other, [home / "edges1"], format="edges", encoder=encoder, reuse_vectors=root)
        assert KnowledgeBase.verify(root).is_written
    with pytest.raises(SnapshotError, match="its first build was interrupted"):
        KnowledgeBase.reembed(root, encoder=encoder)
    assert not wrong(root)
    assert not repair(root, encoder).files


def test_a_sound_snapshot_of_another_layout_is_made_anew(
    copy: Callable[[str], Path], encoder: CountingEncoder
) -> None:
    root = copy("openie")
    answer, before = answers(root, encoder), contents(root)
    with SnapshotWriter(root) as writer:
        live = writer.previous
        assert live is not None
        shutil.copytree(live.path, writer.path, dirs_exist_ok=True)
        for name in ("manifest.json", ".verified"):
            (writer.path / name).unlink()
        write_arrays(writer.path / "lexicon.arrow", {"other": np.zeros(3, np.int32)})
        manifest = live.manifest
        writer.commit(
            counts=manifest.counts,
            encoder=manifest.encoder,
            schema_version=manifest.schema_version,
            settings=manifest.settings,
            sources=manifest.sources,
        )
    assert not wrong(root)
    with refused(root):
        KnowledgeBase.open(root, encoder=encoder)
    report = repair(root, encoder)
    assert report.snapshot == "000004"
    assert not encoder.encoded
    assert answers(root, encoder) == answer
    assert contents(root)["lexicon.arrow"] == before["lexicon.arrow"]
    assert not wrong(root)
