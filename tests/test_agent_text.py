from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.agent.citations import rewrite_citations
from ytrag_core.agent.paths import chain, fact_line, path_line
from ytrag_core.llm.prompts import prompt
from ytrag_core.retrieval.model import TripleHit

if TYPE_CHECKING:
    from collections.abc import Sequence

IDS = ("a", "b", "c")


def in_order(text: str, chunk_ids: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return a text cited anew in order of first mention, and the chunks that its numbers stand for."""
    order: dict[str, int] = {}

    def renumber(number: int) -> int | None:
        known = 1 <= number <= len(chunk_ids)
        return order.setdefault(chunk_ids[number - 1], len(order) + 1) if known else None

    return rewrite_citations(text, renumber).strip(), tuple(order)


def fact(head: str, relation: str, tail: str, head_hint: str = "", tail_hint: str = "") -> TripleHit:
    return TripleHit(head, relation, tail, 1.0, (), head_hint, tail_hint)


@pytest.mark.parametrize(
    ("text", "wanted", "chunk_ids"),
    [
        ("x [2].", "x [1].", ("b",)),
        ("x [2] y [1] z [2]", "x [1] y [2] z [1]", ("b", "a")),
        ("x [1, 9].", "x [1].", ("a",)),
        ("x [9].", "x.", ()),
        ("x [0][4] y", "x y", ()),
        ("x [1-3]", "x [1, 2, 3]", ("a", "b", "c")),
        ("x [2–99]", "x [1, 2]", ("b", "c")),
        ("x [1; 1]", "x [1]", ("a",)),
        ("周岚【3】。", "周岚[1]。", ("c",)),
        ("see [1](http://x) and a[i] and [12345] and [b]", None, ()),
        ("none", "none", ()),
        ("", "", ()),
    ],
)
def test_citations(text: str, wanted: str | None, chunk_ids: tuple[str, ...]) -> None:
    assert in_order(text, IDS) == (text if wanted is None else wanted, chunk_ids)


@given(st.text(alphabet="ab [],1239【】-", max_size=60), st.integers(0, 4))
def test_every_citation_left_points_to_a_cited_chunk(text: str, n_chunks: int) -> None:
    chunk_ids = [f"chunk-{number}" for number in range(n_chunks)]
    resolved, cited = in_order(text, chunk_ids)
    assert len(set(cited)) == len(cited)
    assert set(cited) <= set(chunk_ids)
    written = "".join(re.findall(r"\[\d{1,4}(?:, \d{1,4})*\]", resolved))
    assert set(range(1, len(cited) + 1)) <= {int(number) for number in re.findall(r"\d+", written)}


def test_a_path_turns_its_facts_to_follow_on() -> None:
    triples = [fact("B", "son of", "A"), fact("C", "wrote about", "B"), fact("C", "born in", "D")]
    assert path_line(triples) == "A ←son of— B ←wrote about— C —born in→ D"
    assert [hop[3][0] for hop in chain(triples)] == ["B", "C", "D"]


def test_a_path_that_breaks_starts_afresh() -> None:
    assert path_line([fact("A", "r", "B"), fact("X", "q", "Y")]) == "A —r→ B; X —q→ Y"
    assert path_line([]) == ""


def test_namesakes_are_told_apart() -> None:
    line = path_line([fact("Springfield", "in", "Ohio", "city"), fact("Springfield", "in", "Utah", "town")])
    assert line == "Springfield (city) —in→ Ohio; Springfield (town) —in→ Utah"
    assert fact_line(fact("A", "r", "A")) == "A —r→ A"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_prompts_have_the_same_places(language: str) -> None:
    assert prompt("answer_reject", language).count("{marker}") == 1  # type: ignore[arg-type]
    assert "{" not in prompt("answer_open", language)  # type: ignore[arg-type]
    places = re.findall(r"\{(\w+)\}", prompt("evidence", language))  # type: ignore[arg-type]
    assert places == ["passages", "facts", "question"]
