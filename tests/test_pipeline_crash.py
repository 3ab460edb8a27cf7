"""An import killed at any moment leaves the snapshot before, whole, and the next import goes on from it."""

from __future__ import annotations

import multiprocessing
import random
import signal
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from tests.bases import read_lines, table_bytes, write_facts, write_openie
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.sample import sample_folder
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.retrieval.model import Evidence

N_KILLS = 20
N_WAITING = 2
QUESTION = "In which city was the designer of the Thirteen Lamps Bridge born?"

Event = tuple[str, int]
"""`begun` or `done`, and the number of a snapshot; `ready` and 0 before the first."""


def write_folders(home: Path) -> list[Path]:
    """Write the sample's English half in two states: texts, triples and both differ in a few passages."""
    corpus = [
        row for row in read_lines(sample_folder() / "corpus.jsonl") if row["id"].startswith("sample-en")
    ]
    records = {row["passage_id"]: row for row in read_lines(sample_folder() / "openie.jsonl")}
    folders = []
    for state, town in (("even", "Ismarra"), ("odd", "Port Hale")):
        texts = [{**row, "text": row["text"].replace("Ismarra", town)} for row in corpus]
        facts = [records[row["id"]] for row in corpus]
        if state == "odd":
            for row in facts:
                row["triples"] = [
                    [head, relation, tail.replace("Ismarra", town)] for head, relation, tail in row["triples"]
                ]
        folders.append(write_openie(home / state, texts, facts))
    return folders


def import_next(root: Path, folders: list[Path], encoder: Encoder) -> int:
    """Import the folder whose turn it is; return the number of the snapshot."""
    number = Snapshot.open(root).number + 1
    report = KnowledgeBase.build(root, [folders[number % 2]], format="openie", encoder=encoder)
    assert int(report.snapshot) == number
    return number


def import_forever(root: Path, folders: list[Path], scratch: Path, pipe: Connection) -> None:
    """Load everything, wait for the word to start, then import again and again and tell of it."""
    from ytrag_core.embedding.encoder import Encoder

    encoder = Encoder.load()
    facts = write_facts(scratch / "facts", [("Ada", "born in", "Quellmouth")])
    KnowledgeBase.build(scratch / "kb", [facts], format="openie", encoder=encoder)
    pipe.send(("ready", 0))
    pipe.recv()
    while True:
        pipe.send(("begun", Snapshot.open(root).number + 1))
        pipe.send(("done", import_next(root, folders, encoder)))


class Importer:
    """A process that imports; it gets ready while those before it are being killed."""

    def __init__(self, root: Path, folders: list[Path], scratch: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        arguments = (root, folders, scratch, theirs)
        self._process: SpawnProcess = context.Process(target=import_forever, args=arguments)
        self._process.start()
        theirs.close()

    def close(self) -> None:
        self._process.kill()
        self._process.join(timeout=60)
        self._pipe.close()
        self._process.close()

    def run_and_kill(self, n_whole: int, seconds: float) -> list[Event]:
        """Let it do so many imports and go on for some time, kill it, and return what it told."""
        assert self._told() == ("ready", 0)
        self._pipe.send("go")
        events = [self._told()]
        while sum(kind == "done" for kind, _ in events) < n_whole:
            events.append(self._told())
        time.sleep(seconds)
        self._process.kill()
        self._process.join(timeout=60)
        assert self._process.exitcode == -signal.SIGKILL
        with suppress(EOFError):
            while True:
                events.append(self._pipe.recv())
        return events

    def _told(self) -> Event:
        assert self._pipe.poll(600)
        event: Event = self._pipe.recv()
        return event


@dataclass(frozen=True)
class State:
    """What a complete import of a folder gives."""

    tables: dict[str, bytes]
    evidence: Evidence


def observed(root: Path, encoder: Encoder) -> State:
    """Check every file of the live snapshot, ask it a question, and return what is there."""
    Snapshot.open(root, verify="full")
    evidence = KnowledgeBase.open(root, encoder=encoder).retrieve(QUESTION)
    return State(table_bytes(root), replace(evidence, timings_ms={}))


@pytest.mark.slow
def test_killed_imports_leave_a_complete_snapshot(tmp_path: Path, encoder: Encoder) -> None:
    root, folders = tmp_path / "kb", write_folders(tmp_path)
    number = int(KnowledgeBase.build(root, [folders[1]], format="openie", encoder=encoder).snapshot)
    states: dict[int, State] = {}
    started = time.monotonic()
    for _ in range(2):
        number = import_next(root, folders, encoder)
        states[number % 2] = observed(root, encoder)
    longest_wait = (time.monotonic() - started) / 2
    assert states[0].tables != states[1].tables
    waits = random.Random(20250)
    interrupted, n_done = 0, set()
    with ExitStack() as stack:
        importers = []
        for turn in range(N_KILLS + N_WAITING):
            if turn < N_KILLS:
                importers.append(Importer(root, folders, tmp_path / f"scratch{turn}"))
                stack.callback(importers[-1].close)
            if turn < N_WAITING:
                continue
            events = importers[turn - N_WAITING].run_and_kill(turn % 2, waits.uniform(0.0, longest_wait))
            done = [at for kind, at in events if kind == "done"]
            assert done == list(range(number + 1, number + 1 + len(done)))
            last = number + len(done)
            number = Snapshot.open(root).number
            assert number in (last, last + 1)
            interrupted += events[-1][0] == "begun"
            n_done.add(len(done))
            assert observed(root, encoder) == states[number % 2]
    assert interrupted >= N_KILLS // 2
    assert len(n_done) > 1
    number = import_next(root, folders, encoder)
    assert observed(root, encoder) == states[number % 2]
    assert not list((root / "snapshots").glob(".*"))
    assert len(list((root / "snapshots").iterdir())) == 2
