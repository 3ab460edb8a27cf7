"""Claims held against passages without a model, and the answer that comes of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent_shelf import TEXTS
from ytrag_core.agent.citations import citations_inside
from ytrag_core.agent.claims import contributes, split_claims, states
from ytrag_core.agent.grounding import ground, settle, stating
from ytrag_core.agent.judging import read_verdicts
from ytrag_core.agent.state import Draft, Finding

PASSAGES = {chunk_id: f"{title}\n{text}" for chunk_id, (title, text) in TEXTS.items()}
IDS = tuple(PASSAGES)
QUESTION = "In which town was the teacher of the fog clock's inventor born?"
FOG, MAREN, IVO = PASSAGES["fog"], PASSAGES["maren"], PASSAGES["ivo"]


@pytest.mark.parametrize(
    ("claim", "passages", "stated"),
    [
        ("Nimbrel", [IVO], True),
        ("Nimbrel", [MAREN], False),
        ("Ivo Lanth was born in Nimbrel.", [IVO], True),
        ("The teacher, Ivo Lanth, was born in Nimbrel.", [IVO], True),
        ("Ivo Lanth was born in Ismarra.", [IVO], False),
        ("Maren Tessaly invented the fog clock in 1788.", [FOG], True),
        ("Maren Tessaly invented the fog clock in 1789.", [FOG], False),
        ("Ivo Lanth taught the inventor of the fog clock, Maren Tessaly.", [MAREN], True),
        ("Perrin Dask taught Maren Tessaly.", [MAREN], False),
        ("It was quietly dismantled and sold for scrap.", [FOG], False),
        ("Based on the passages, the teacher was born in Nimbrel.", [IVO], True),
        ("According to passages 2 and 3, he was born in Nimbrel.", [IVO], True),
        ("As stated in passage 7, the town is Nimbrel.", [IVO], True),
        ("Based on the passages, the teacher was born in Ismarra.", [IVO], False),
        ("According to passage 2, the fog clock dates from 1791.", [FOG], False),
        ("Located in Nimbrel.", [IVO], True),
        ("Raised Nimbrel.", [FOG], False),
        ("Ismarra, according to the given passages.", [IVO], False),
        ("", [FOG], False),
        ("东港的灯塔由周岚建造。", ["东港的灯塔由周岚于1921年建造。"], True),
        ("灯塔建于1921年。", ["东港的灯塔由周岚于1921年建造。"], True),
        ("灯塔建于1931年。", ["东港的灯塔由周岚于1921年建造。"], False),
        ("灯塔由李明设计。", ["东港的灯塔由周岚于1921年建造。"], False),
        ("根据段落3，灯塔由周岚建造。", ["东港的灯塔由周岚于1921年建造。"], True),
        ("根据所给段落中的信息，灯塔由李明设计。", ["东港的灯塔由周岚于1921年建造。"], False),
        ("根据段落3和4，灯塔建于1931年。", ["东港的灯塔由周岚于1921年建造。"], False),
        ("这本书名为“潮汐簿”。", ["周岚晚年写了《潮汐簿》一书。"], True),
        ("这本书名为“晨钟录”。", ["周岚晚年写了《潮汐簿》一书。"], False),
    ],
)
def test_what_a_passage_states(claim: str, passages: list[str], stated: bool) -> None:
    assert states(claim, passages, given=QUESTION) is stated


def test_a_passage_contributes_a_part() -> None:
    claim = "Ivo Lanth, who taught Maren Tessaly, was born in Nimbrel."
    assert contributes(claim, IVO)
    assert contributes(claim, MAREN)
    assert not contributes(claim, PASSAGES["kelp"])


def test_claims_are_sentences_with_their_citations() -> None:
    text = "Nimbrel [3]. Ivo Lanth taught her.[2] He was kind [own]. [1]"
    claims = split_claims(citations_inside(text))
    assert [(claim.text, claim.numbers, claim.is_own) for claim in claims] == [
        ("Nimbrel.", (3,), False),
        ("Ivo Lanth taught her.", (2,), False),
        ("He was kind.", (1,), True),
    ]
    chinese = split_claims("宁布雷尔【3】。伊沃教过她［2］。")
    assert [claim.numbers for claim in chinese] == [(3,), (2,)]


def test_a_citation_that_does_not_exist_or_carry_the_claim_is_removed_and_said() -> None:
    draft = Draft("Ivo Lanth was born in Nimbrel [3, 4, 9].", IDS)
    grounded = ground(draft, QUESTION, PASSAGES, (), mode="reject")
    assert not grounded.unsupported
    assert [(one.citation, one.reason) for one in grounded.removed] == [
        ("9", "no such passage was shown"),
        ("kelp", "the passage does not state what it is cited for"),
    ]
    settled = settle(grounded, "reject", "en")
    assert settled.text == "Ivo Lanth was born in Nimbrel [1]."
    assert settled.chunk_ids == ("ivo",)


def test_a_wrong_citation_gives_way_to_the_passage_that_states_the_claim() -> None:
    draft = Draft("Nimbrel [5]. Maren Tessaly was taught by Ivo Lanth.", IDS)
    settled = settle(ground(draft, QUESTION, PASSAGES, (), mode="reject"), "reject", "en")
    assert settled.text == "Nimbrel [1]. Maren Tessaly was taught by Ivo Lanth [2]."
    assert settled.chunk_ids == ("ivo", "maren")


def test_citations_beside_the_text_are_put_into_it() -> None:
    draft = Draft("Nimbrel", IDS, cited=("ivo", "kelp"), unknown=("12",))
    grounded = ground(draft, QUESTION, PASSAGES, (), mode="reject")
    settled = settle(grounded, "reject", "en")
    assert (settled.text, settled.chunk_ids) == ("Nimbrel [1]", ("ivo",))
    assert {one.citation for one in grounded.removed} == {"12", "kelp"}


@pytest.mark.parametrize(
    ("answer", "cited", "stating_it"),
    [
        ("Nimbrel", ("ivo",), ("ivo",)),
        ("Nimbrel", ("kelp",), ("ivo",)),
        ("Nimbrel", (), ("ivo",)),
        ("Nimbrel", ("ivo", "kelp"), ("ivo",)),
        ("Tollan", ("ivo",), ()),
    ],
)
def test_the_passages_that_answer_a_sub_question(
    answer: str, cited: tuple[str, ...], stating_it: tuple[str, ...]
) -> None:
    assert stating(Finding(3, answer, cited), "In which town was Ivo Lanth born?", PASSAGES) == stating_it


def test_facts_support_without_being_cited() -> None:
    draft = Draft("Perrin Dask founded Heron Press.", IDS)
    facts = ["Perrin Dask —founded→ Heron Press"]
    settled = settle(ground(draft, QUESTION, PASSAGES, facts, mode="reject"), "reject", "en")
    assert (settled.text, settled.struck) == ("Perrin Dask founded Heron Press.", ())


def test_own_knowledge_is_marked_in_open_mode_and_struck_out_in_reject_mode() -> None:
    draft = Draft("Ivo Lanth was born in Nimbrel [3]. Nimbrel exports herring. It has 9 mills [own].", IDS)
    open_ = settle(ground(draft, QUESTION, PASSAGES, (), mode="open"), "open", "en")
    assert open_.text == (
        "Ivo Lanth was born in Nimbrel [1]. Nimbrel exports herring (the model's own knowledge). "
        "It has 9 mills (the model's own knowledge)."
    )
    assert open_.own == ("Nimbrel exports herring.", "It has 9 mills.")
    strict = settle(ground(draft, QUESTION, PASSAGES, (), mode="reject"), "reject", "en")
    assert strict.text == "Ivo Lanth was born in Nimbrel [1]."
    assert strict.struck == ("Nimbrel exports herring.", "It has 9 mills.")


def test_a_claim_without_words_needs_a_citation() -> None:
    cited = ground(Draft("Yes [3].", IDS), QUESTION, PASSAGES, (), mode="reject")
    assert not cited.unsupported
    assert ground(Draft("Yes.", IDS), QUESTION, PASSAGES, (), mode="reject").unsupported


@pytest.mark.parametrize("text", ["...", "👍 [1]", "[[[[", "[1] [2]"])
def test_a_text_without_a_statement_is_no_answer_from_evidence(text: str) -> None:
    grounded = ground(Draft(text, IDS), QUESTION, PASSAGES, (), mode="reject")
    settled = settle(grounded, "reject", "en")
    assert settled.text == ""
    assert settled.chunk_ids == ()


def test_a_judge_supports_what_is_said_in_other_words() -> None:
    grounded = ground(Draft("He hailed from a herring port [3].", IDS), QUESTION, PASSAGES, (), mode="reject")
    assert grounded.unsupported == [0]
    verdicts = read_verdicts('{"verdicts": [{"claim": 1, "stated": true, "passages": [3]}]}', 1, IDS)
    judged = grounded.with_support(0, verdicts[1])
    assert not judged.unsupported
    assert settle(judged, "reject", "en").text == "He hailed from a herring port [1]."


@pytest.mark.parametrize(
    "reply",
    ["", "yes", "[]", '{"verdicts": [{"claim": 2, "stated": true, "passages": [3]}, 4]}',
     '{"verdicts": [{"claim": 1, "stated": true, "passages": [77]}]}',
     '{"verdicts": [{"claim": 1, "stated": "true", "passages": [1]}]}'],
)  # fmt: skip
def test_a_verdict_without_substance_does_not_count(reply: str) -> None:
    assert read_verdicts(reply, 1, IDS) == {}


@given(st.text(alphabet="aN.。 [],19【】-own\n", max_size=60), st.sampled_from(["open", "reject"]))
def test_every_citation_that_is_left_points_to_a_passage(text: str, mode: str) -> None:
    draft = Draft(text, IDS[:2], cited=("fog",))
    grounded = ground(draft, QUESTION, PASSAGES, (), mode=mode)  # type: ignore[arg-type]
    settled = settle(grounded, mode, "en")  # type: ignore[arg-type]
    assert set(settled.chunk_ids) <= set(IDS)
    numbers = {number for claim in split_claims(settled.text) for number in claim.numbers}
    assert numbers <= set(range(1, len(settled.chunk_ids) + 1))
