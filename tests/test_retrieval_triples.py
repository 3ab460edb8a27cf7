"""Which triples answer to a question that names a node, where triples are scored from their parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from tests.bases import write_edges
from ytrag_core.config import BuildSettings
from ytrag_core.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder

MEMBERS = [f"Member {number} of Orland" for number in range(700)]
VILLAGES = [f"Hamlet {number}" for number in range(30)]
FACTS = [
    *(("Orland", "/council/council/member", member) for member in MEMBERS),
    ("Orland", "capital of", "Norland"),
    ("Orland", "twinned with", "Sarnwick"),
    *((village, "part of", "Quellshire") for village in VILLAGES),
    ("Quellshire", "part of", "Norland"),
    ("quellshire", "has sense", "a sort of cheese"),
    ("tell", "has sense", "to say"),
    ("松山区", "隶属于", "赤峰市"),
    *((f"松山{number}村", "隶属于", "松山区") for number in "一二三四五六七八九十甲乙丙丁戊"),
]


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("triples")
    names = list(dict.fromkeys(name for head, _, tail in FACTS for name in (head, tail)))
    nodes = pa.table({"id": list(range(len(names))), "name": names})
    edges = pa.table(
        {
            "src": [names.index(head) for head, _, _ in FACTS],
            "relation": [relation for _, relation, _ in FACTS],
            "dst": [names.index(tail) for *_, tail in FACTS],
        }
    )
    KnowledgeBase.build(
        folder / "kb",
        [write_edges(folder / "in", nodes, edges)],
        format="edges",
        settings=BuildSettings(sentence_triples=0),
        encoder=encoder,
    )
    return KnowledgeBase.open(folder / "kb", encoder=encoder)


@pytest.mark.parametrize(
    ("question", "fact"),
    [
        ("Which place is Orland the capital of?", ("Orland", "capital of", "Norland")),
        ("What is Orland twinned with?", ("Orland", "twinned with", "Sarnwick")),
        ("What is the part of of Quellshire?", ("Quellshire", "part of", "Norland")),
        ("Tell me the sense of quellshire.", ("quellshire", "has sense", "a sort of cheese")),
        ("松山区隶属于哪里？", ("松山区", "隶属于", "赤峰市")),
    ],
)
def test_the_triple_asked_for_comes_first(
    kb: KnowledgeBase, question: str, fact: tuple[str, str, str]
) -> None:
    best = kb.retrieve(question).triples[0]
    assert (best.head, best.relation, best.tail) == fact


def test_a_hub_is_asked_about_the_other_end(kb: KnowledgeBase) -> None:
    hits = kb.retrieve("Which hamlets are part of Quellshire?", top_k=40).triples
    assert len({hit.head for hit in hits if hit.tail == "Quellshire"}) == len(VILLAGES)


def test_the_members_of_a_hub_fill_the_answer(kb: KnowledgeBase) -> None:
    hits = kb.retrieve("Who is a member of the council of Orland?", top_k=20).triples
    assert sum(hit.relation == "/council/council/member" for hit in hits) >= 18
