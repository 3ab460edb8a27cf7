"""Communities that a language model names: remembered, bounded, named by rules where it fails."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.bases import table_rows
from tests.chat_endpoint import Reply, chat, failure
from tests.reading_endpoint import Asked, reading_server, reads
from tests.reading_runs import index, plan, write_passages
from tests.tiny_bases import tiny_encoder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    return tiny_encoder(tmp_path_factory.mktemp("tiny"))


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_passages(tmp_path)


def community_words(kb: Path, column: str) -> list[str]:
    return [row[column] for row in table_rows(kb, "communities")]


def test_communities_are_named_by_the_model_and_remembered(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    kb = tmp_path / "kb"
    with reading_server() as server:
        report = index(kb, tiny, plan(server, summaries=None), docs)
        assert report.language_model is not None
        assert report.language_model["communities"]["described"] == report.counts["communities"]
        assert all(name.startswith("Group ") for name in community_words(kb, "name"))
        assert all(text.startswith("Summary ") for text in community_words(kb, "summary"))
        n_asked = len(server.asked)
        index(kb, tiny, plan(server, summaries=True), docs)
        assert len(server.asked) == n_asked
    index(kb, tiny, plan(None), docs)
    assert not any(name.startswith("Group ") for name in community_words(kb, "name"))
    index(kb, tiny, None, docs)  # nobody is asked, and what was written before still fits
    assert all(name.startswith("Group ") for name in community_words(kb, "name"))


@pytest.mark.parametrize(
    "reply", [failure(500), chat("no"), chat('{"communities": [{"id": 99, "name": "x"}]}')]
)
def test_communities_keep_names_by_rules_where_the_model_fails(
    tmp_path: Path, docs: Path, tiny: Encoder, reply: Reply
) -> None:
    kb = tmp_path / "kb"
    with reading_server(lambda asked: reads(asked) if asked.passage else reply) as server:
        report = index(kb, tiny, plan(server, summaries=True), docs)
    assert report.counts["communities"] > 0
    assert all(community_words(kb, "name"))
    assert not any(community_words(kb, "summary"))


@pytest.mark.parametrize("numbers", [lambda place: place, lambda place: 1])
def test_communities_that_are_numbered_otherwise_are_told_apart_by_their_place(
    tmp_path: Path, docs: Path, tiny: Encoder, numbers: Callable[[int], int]
) -> None:
    def named(asked: Asked) -> Reply:
        n_groups = len(re.findall(r"^\[\d+\] ", asked.turns[-1]["content"], re.MULTILINE))
        groups = [
            {"id": numbers(place), "name": f"Group {place}", "summary": "So."} for place in range(n_groups)
        ]
        return chat(json.dumps({"communities": groups}))

    kb = tmp_path / "kb"
    with reading_server(lambda asked: reads(asked) if asked.passage else named(asked)) as server:
        report = index(kb, tiny, plan(server, summaries=True), docs)
    assert report.language_model is not None
    assert report.language_model["communities"]["described"] == report.counts["communities"]
    assert all(name.startswith("Group ") for name in community_words(kb, "name"))


def test_naming_communities_stays_below_its_bound(tmp_path: Path, docs: Path, tiny: Encoder) -> None:
    with reading_server() as server:
        report = index(tmp_path / "a", tiny, plan(server, summaries=True, community_tokens=100), docs)
        assert not [asked for asked in server.asked if not asked.passage]
        assert report.language_model is not None
        assert report.language_model["communities"]["described"] == 0
