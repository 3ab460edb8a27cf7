"""Extraction end to end with a small language model behind a real server: its structure, and a kill."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tests.bases import table_rows, write_lines
from tests.chat_endpoint import relay
from tests.test_cli_process import COMMAND, environment, here
from tests.test_extraction_crash import PASSAGES

if TYPE_CHECKING:
    from pathlib import Path

    from tests.local_model import LocalModel
    from ytrag_core.embedding.encoder import Encoder

N_READ = 10
N_CALLS = 2
SCHEMA = {
    "name": "towers",
    "entity_types": [{"name": "person"}, {"name": "structure"}],
    "relation_types": [{"name": "built", "description": "Head made tail."}, {"name": "owns"}],
}


def n_read(kb: Path) -> int:
    """Return how many passages the model is through with, whatever it made of them."""
    with closing(sqlite3.connect(kb / "meta.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM extraction_jobs").fetchone()[0])


def n_before(spent: dict[str, Any]) -> int:
    return int(spent["known"] + spent["failed_before"])


def test_ten_passages_are_extracted_and_a_kill_costs_only_the_calls_in_flight(
    tmp_path: Path, local_llm: LocalModel, encoder: Encoder
) -> None:
    kb = tmp_path / "kb"
    texts = PASSAGES[:N_READ]
    docs = write_lines(
        tmp_path / "docs.jsonl", [{"id": f"d{n}", "text": text} for n, text in enumerate(texts)]
    )
    schema = tmp_path / "towers.json"
    schema.write_text(json.dumps(SCHEMA), encoding="utf-8")
    arguments = ["index", str(docs), "--kb", str(kb), "--schema", str(schema), "--extraction-style"]
    arguments += ["sentences", "--concurrency", str(N_CALLS), "--no-summaries", "--json"]
    with relay(local_llm.base_url) as witness:

        def sent() -> list[str]:
            asked = [request["messages"][-1]["content"] for request in list(witness.requests)]
            return [text for said in asked for text in texts if said.endswith(text)]

        told = environment(
            YTRAG_LLM_BASE_URL=witness.base_url, YTRAG_LLM_MODEL=local_llm.model, YTRAG_LLM_TIMEOUT="900"
        )
        running = subprocess.Popen(
            [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=told
        )
        end = time.monotonic() + 900
        while len(sent()) < 5:
            assert time.monotonic() < end
            time.sleep(0.02)
        running.kill()
        running.wait()
        n_sent, n_known = len(sent()), n_read(kb)
        assert n_known >= n_sent - N_CALLS
        whole = here(*arguments, **{name: text for name, text in told.items() if name.startswith("YTRAG_")})
        report = whole.json()
        assert set(sent()) == set(texts)
        assert len(sent()) <= N_READ + N_CALLS
    spent = report["language_model"]
    assert spent["done"] + spent["salvaged"] + spent["failed"] + n_before(spent) == N_READ
    assert n_before(spent) >= n_known
    assert spent["prompt_tokens"] > 0
    assert report["counts"]["chunks"] == N_READ
    relations = {row["name"] for row in table_rows(kb, "relations")}
    assert "built" in relations | {"owns"}
    assert {"Ada Marrick", "AdaMarrick Tower"} & {row["name"] for row in table_rows(kb, "entities")}
