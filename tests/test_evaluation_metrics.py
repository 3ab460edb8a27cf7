from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.evaluation.metrics import chain_at_k, passages_of, recall_at_k, reciprocal_rank

ids = st.sampled_from(["a", "b", "c", "d", "e", "f", "g"])


def test_pieces_of_one_record_count_once() -> None:
    ranked = ["a#1", "b", "a#0", "c#12", "a"]
    assert passages_of(ranked, {"a"}) == ["a", "b", "c"]


def test_a_gold_id_that_looks_like_a_piece_stays_itself() -> None:
    assert passages_of(["issue#12", "issue#13"], {"issue#12"}) == ["issue#12", "issue"]


def test_documents_decide_what_a_piece_is() -> None:
    documents = {"r#0": "r", "issue#12": "issue#12", "ab-12": "notes/a.txt", "ab-13": "notes/a.txt"}
    assert passages_of(["r#0", "issue#12"], {"issue"}, documents) == ["r", "issue#12"]
    assert passages_of(["ab-13", "ab-12"], {"notes/a.txt"}, documents) == ["notes/a.txt"]
    assert passages_of(["ab-13", "ab-12"], {"ab-12"}, documents) == ["ab-13", "ab-12"]


def test_values_by_hand() -> None:
    ranked = ["x", "a", "y", "b"]
    gold = ("a", "b")
    assert [recall_at_k(ranked, gold, k) for k in (1, 2, 3, 4, 9)] == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert [chain_at_k(ranked, gold, k) for k in (1, 2, 3, 4, 9)] == [0.0, 0.0, 0.0, 1.0, 1.0]
    assert reciprocal_rank(ranked, gold) == 0.5
    assert reciprocal_rank(["x"], gold) == 0.0
    assert recall_at_k([], gold, 5) == 0.0


@given(st.lists(ids, unique=True), st.sets(ids, min_size=1), st.integers(1, 8))
def test_follow_from_the_definition(ranked: list[str], gold: set[str], k: int) -> None:
    found = sum(1 for passage in gold if passage in ranked and ranked.index(passage) < k)
    assert recall_at_k(ranked, gold, k) == found / len(gold)
    assert chain_at_k(ranked, gold, k) == (found == len(gold))
    places = [ranked.index(passage) + 1 for passage in gold if passage in ranked]
    assert reciprocal_rank(ranked, gold) == (1 / min(places) if places else 0)
