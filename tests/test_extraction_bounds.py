"""What a run of a language model may cost: bounds that stop it, estimates before it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.chat_endpoint import Reply, chat
from tests.reading_endpoint import Asked, facts_of, reading_server
from tests.reading_runs import PEOPLE, built_by, index, passage, plan, write_passages
from tests.tiny_bases import tiny_encoder
from ytrag_core.config import BuildSettings, ExtractionSettings
from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.estimate import estimate_extraction
from ytrag_core.pipeline.jobs import list_jobs
from ytrag_core.pipeline.plan import ExtractionPlan
from ytrag_core.pipeline.report import StageRecorder

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_passages(tmp_path)


def dear(asked: Asked) -> Reply:
    usage = {"prompt_tokens": 2500, "completion_tokens": 60, "total_tokens": 2560}
    return chat(json.dumps(facts_of(asked.passage)), usage=usage)


@pytest.mark.parametrize(
    "bound", [{"max_tokens": 12_000}, {"max_cost": 0.013, "price_in": 1.0, "price_out": 2.0}]
)
def test_a_bound_stops_cleanly_and_the_next_run_goes_on(
    tmp_path: Path, docs: Path, tiny: Encoder, bound: dict[str, Any]
) -> None:
    kb = tmp_path / "kb"
    settings: dict[str, Any] = {"max_reply_tokens": 200, "concurrency": 3}
    with reading_server(dear) as server:
        report = index(kb, tiny, plan(server, **settings, **bound), docs)
        first = server.passages()
        spent = report.language_model
        assert spent is not None
        assert 1 <= len(first) < len(PEOPLE)
        assert spent["prompt_tokens"] + spent["completion_tokens"] <= 12_000
        if "max_cost" in bound:
            assert 0 < spent["cost"] <= 0.013
        assert spent["pending"] == len(PEOPLE) - len(first)
        assert "could exceed" in spent["stopped"]
        assert any("run the same command again" in told for told in report.notes)
        assert report.counts["chunks"] == len(PEOPLE)
        assert list_jobs(kb).counts["pending"] == len(PEOPLE) - len(first)
        rest = index(kb, tiny, plan(server, **settings), docs)
        assert rest.language_model is not None
        assert rest.language_model["stopped"] == ""
        assert sorted(server.passages()) == sorted(map(passage, PEOPLE))
    assert built_by(kb) == set(PEOPLE)


def test_an_estimate_sends_and_changes_nothing(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    asking: dict[str, Any] = {"price_in": 1.0, "price_out": 4.0}

    def estimate(plan: ExtractionPlan) -> Any:
        return estimate_extraction(kb, [docs], tiny, BuildSettings(), plan, StageRecorder())

    with reading_server() as server:
        before = estimate(plan(server, **asking))
        assert not kb.exists()
        assert not server.asked
        assert (before.documents, before.chunks, before.to_send) == (7, 7, 7)
        assert before.cost == pytest.approx((before.prompt_tokens + 4 * before.completion_tokens) / 1e6)
        index(kb, tiny, plan(server, rules=(("d0", "offline"),)), docs)
        n_asked = len(server.asked)
        snapshot = sorted(path.name for path in (kb / "snapshots").iterdir())
        after = estimate(plan(server, **asking))
        assert (after.to_send, after.known) == (1, 6)
        assert len(server.asked) == n_asked
        assert sorted(path.name for path in (kb / "snapshots").iterdir()) == snapshot
    nobody = estimate(plan(None))
    assert (nobody.to_send, nobody.cost) == (7, None)
    assert nobody.to_json()["dry_run"] is True


def test_an_estimate_leaves_out_what_failed_before(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    with reading_server(lambda asked: chat("no facts today")) as server:
        index(kb, tiny, plan(server), docs)
        told = estimate_extraction(kb, [docs], tiny, BuildSettings(), plan(server), StageRecorder())
        n_asked = len(server.asked)
        index(kb, tiny, plan(server), docs)
        assert len(server.asked) == n_asked
    assert (told.to_send, told.failed_before) == (0, 7)
    assert told.prompt_tokens == 0


def test_what_is_left_of_a_bound_is_what_naming_may_take() -> None:
    settings = ExtractionSettings(max_tokens=5000, community_tokens=4000)
    used = Usage(3, 2500, 500)
    assert ExtractionPlan(settings=settings).after(used).settings.community_tokens == 2000
    assert ExtractionPlan().after(used).settings.community_tokens == 10_000
    dear = ExtractionSettings(max_cost=0.01, price_in=1.0, price_out=4.0)
    assert ExtractionPlan(settings=dear).after(used).settings.community_tokens == 1375
    free = ExtractionSettings(max_cost=0.01, price_in=0.0, price_out=0.0)
    assert ExtractionPlan(settings=free).after(used).settings.community_tokens == 10_000
    assert ExtractionPlan(settings=settings).after(Usage(9, 9000, 0)).settings.community_tokens == 0
