"""Runs of a language model that are killed or interrupted: what is finished is never sent again."""

from __future__ import annotations

import json
import multiprocessing
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.bases import table_rows, write_lines
from tests.reading_endpoint import Asked, ReadingServer, reading_server, reads
from tests.test_cli_process import COMMAND, environment, hear_ctrl_c, here
from tests.tiny_bases import tiny_encoder
from ytrag_core.config import ExtractionSettings, LLMSettings
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.llm.stages import StageModels
from ytrag_core.pipeline.jobs import list_jobs
from ytrag_core.pipeline.plan import ExtractionPlan

if TYPE_CHECKING:
    from pathlib import Path

    from tests.chat_endpoint import Reply
    from ytrag_core.embedding.encoder import Encoder

N_PASSAGES = 30
N_CALLS = 3
FIRST = ("Ada", "Tom", "Nora", "Lucan", "Perrin", "Rufina")
LAST = ("Marrick", "Pell", "Quade", "Ferrow", "Dask")
PASSAGES = [
    f"{FIRST[n % 6]} {LAST[n // 6]} built the {FIRST[n % 6]}{LAST[n // 6].lower()} Tower."
    for n in range(N_PASSAGES)
]


class SlowReader:
    """Takes its time, and for requests beyond `most` all there is: who is to be stopped cannot finish."""

    def __init__(self, most: int = sys.maxsize) -> None:
        self.most = most
        self._numbers = count(1)
        self._freed = threading.Event()

    def __call__(self, asked: Asked) -> Reply:
        if next(self._numbers) > self.most:
            self._freed.wait(600)
        return replace(reads(asked), delay=0.05 + 0.1 * random.Random(asked.text).random())

    def free(self) -> None:
        """Answer everyone from now on."""
        self.most = sys.maxsize
        self._freed.set()
        self._freed = threading.Event()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    rows = [{"id": f"d{n}", "title": "", "text": text} for n, text in enumerate(PASSAGES)]
    return write_lines(tmp_path / "docs.jsonl", rows)


def build(kb: Path, docs: Path, home: Path, url: str) -> None:
    settings = LLMSettings(base_url=url, model="reader", max_retries=0)
    plan = ExtractionPlan(
        "llm",
        settings=ExtractionSettings(concurrency=N_CALLS),
        models=StageModels.of_endpoint(settings),
        summaries=False,
    )
    KnowledgeBase.build(kb, [docs], encoder=tiny_encoder(home), plan=plan)


def finished(kb: Path) -> set[str]:
    """Return the passages that the store holds a model's reading of."""
    path = kb / "meta.sqlite"
    if not path.is_file():
        return set()
    with closing(sqlite3.connect(path)) as connection:
        there = "SELECT count(*) FROM sqlite_master WHERE name = 'extractions'"
        if not connection.execute(there).fetchone()[0]:
            return set()
        rows = connection.execute("SELECT payload FROM extractions WHERE extractor LIKE 'llm:%'").fetchall()
    named = {entity[0] for (payload,) in rows for entity in json.loads(payload)["entities"]}
    return {text for text in PASSAGES if " ".join(text.split()[:2]) in named}


def wait_for(server: ReadingServer, n_asked: int) -> None:
    end = time.monotonic() + 600
    while len(server.asked) < n_asked:
        assert time.monotonic() < end
        time.sleep(0.005)


def test_killed_at_random_moments_no_finished_passage_is_sent_again(tmp_path: Path, docs: Path) -> None:
    kb, home = tmp_path / "kb", tmp_path / "home"
    tiny_encoder(home)
    chance = random.Random(7)
    context = multiprocessing.get_context("spawn")
    known_at: list[tuple[int, set[str]]] = []
    model = SlowReader()
    with reading_server(model) as server:
        for _ in range(3):
            child = context.Process(target=build, args=(kb, docs, home, server.base_url))
            n_wanted = len(server.asked) + chance.randint(2, 7)
            model.most = n_wanted + N_CALLS
            child.start()
            wait_for(server, n_wanted)
            time.sleep(0.1 * chance.random())
            child.kill()
            child.join(timeout=60)
            assert child.exitcode == -signal.SIGKILL
            child.close()
            model.free()
            known_at.append((len(server.asked), finished(kb)))
            n_sent, known = known_at[-1]
            assert len(known) >= n_sent - len(known_at) * N_CALLS
        build(kb, docs, home, server.base_url)
        sent = server.passages()
    for n_sent, known in known_at:
        assert not known & set(sent[n_sent:])
    assert set(sent) == set(PASSAGES)
    assert len(sent) <= N_PASSAGES + len(known_at) * N_CALLS
    assert finished(kb) == set(PASSAGES)
    assert list_jobs(kb).counts["done"] == N_PASSAGES
    assert len(table_rows(kb, "triples")) == N_PASSAGES


def test_ctrl_c_ends_at_once_and_the_next_run_goes_on(tmp_path: Path, docs: Path, encoder: Encoder) -> None:
    kb = str(tmp_path / "kb")
    arguments = ["index", str(docs), "--kb", kb, "--concurrency", str(N_CALLS), "--no-summaries"]
    model = SlowReader(2 * N_CALLS + 1)
    with reading_server(model) as server:
        running = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**server.environment()),
            preexec_fn=hear_ctrl_c,
        )
        wait_for(server, 2 * N_CALLS + 1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=300)
        model.free()
        assert (running.returncode, out) == (130, b"")
        assert err.decode().endswith("ytrag: interrupted\n")
        known, n_sent = finished(tmp_path / "kb"), len(server.asked)
        assert len(known) >= N_CALLS
        done = here(*arguments, "--json", **server.environment())
        assert not known & set(server.passages()[n_sent:])
        assert len(server.asked) <= N_PASSAGES + N_CALLS
    spent = done.json()["language_model"]
    assert spent["done"] + spent["known"] == N_PASSAGES
    assert spent["known"] >= len(known)


def test_the_commands_say_what_a_run_would_do_did_and_left(
    tmp_path: Path, docs: Path, encoder: Encoder
) -> None:
    kb = str(tmp_path / "kb")
    prices = ["--price-in", "2", "--price-out", "8"]
    with reading_server() as server:
        asked = server.environment()
        dry = here("index", str(docs), "--kb", kb, "--dry-run", *prices, "--json", **asked).json()
        assert (dry["to_send"], dry["known"], len(server.asked)) == (N_PASSAGES, 0, 0)
        assert dry["cost"] > 0
        told = here("index", str(docs), "--kb", kb, "--dry-run", **asked)
        assert "cost" not in told.stdout
        assert "nothing was sent" in told.stderr
        part = here("index", str(docs), "--kb", kb, "--max-tokens", "5500", "--concurrency", "1", **asked)
        assert part.code == 0
        assert "run the same command again" in part.stderr
        assert "tokens in" in part.stderr
        jobs = here("jobs", "--kb", kb)
        assert "pending" in jobs.stdout
        assert "passage d" in " ".join(jobs.stdout.split())  # lines end where the path lets them
        listed = here("jobs", "--kb", kb, "--json").json()
        assert listed["counts"]["pending"] == N_PASSAGES - listed["counts"]["done"] > 0
        assert {job["status"] for job in listed["jobs"]} == {"pending"}
        assert listed["usage"]["llm_calls"] == listed["counts"]["done"]
        assert here("jobs", "--kb", kb, "--failed", "--json").json()["jobs"] == []
        whole = here("index", str(docs), "--kb", kb, "--json", *prices, **asked).json()
        assert whole["language_model"]["cost"] > 0
    for wrong, words in (
        (["index", "--kb", kb], "no PATH"),
        (["index", str(docs), "--kb", kb, "--extractor", "llm"], "YTRAG_LLM_BASE_URL"),
        (["index", str(docs), "--kb", kb, "--extractor-for", "x"], "pattern"),
        (["index", str(docs), "--kb", kb, "--max-cost", "1"], "--price-in"),
        (["jobs", "--kb", str(tmp_path / "nowhere")], "no knowledge base"),
    ):
        failed = here(*wrong)
        assert failed.code == 2, failed.stderr
        assert words in failed.stderr
