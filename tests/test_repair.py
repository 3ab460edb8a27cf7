"""Each file of a knowledge base damaged in turn: it is found, told, and made again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.bases import live_folder, write_facts, write_lines
from tests.tiny_bases import name_of, tiny_encoder, write_names
from ytrag_core.errors import SnapshotError
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.tiny_bases import CountingEncoder
    from ytrag_core.pipeline.repair import RepairReport
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


def wrong(root: Path) -> list[str]:
    return [file.path for file in KnowledgeBase.verify(root).wrong]


def repair(root: Path, encoder: CountingEncoder, **options: Any) -> RepairReport:
    encoder.encoded.clear()
    return KnowledgeBase.repair(root, encoder=encoder, **options)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_each_file_of_a_snapshot_is_found_and_made_again(
    copy: Callable[[str], Path], encoder: CountingEncoder, kind: str, damage: str
) -> None:
    root = copy(kind)
    before, answer = contents(root), answers(root, encoder)
    place = live_folder(root).relative_to(root).as_posix()
    assert not wrong(root)
    for name in before:
        DAMAGES[damage](root / place / name)
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
        if damage != "removed":
            (kept,) = [path for path in (root / "damaged").rglob("*") if path.is_file()]
            assert kept.relative_to(root / report.aside).as_posix() == f"{place}/{name}"
            shutil.rmtree(root / "damaged")
    assert answers(root, encoder) == answer
    assert not repair(root, encoder).files
