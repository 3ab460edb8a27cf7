"""Path search against every simple path of a small graph, scored from the definition."""

from __future__ import annotations

import json
import math
import shutil
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest
from pydantic import ValidationError

from tests.bases import live_folder, table_rows, write_facts
from ytrag_core.config import BuildSettings, RetrievalSettings
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.lexical import lexical_tokens
from ytrag_core.retrieval.paths import find_paths
from ytrag_core.retrieval.retriever import Retriever
from ytrag_core.retrieval.triples import QueryVectors
from ytrag_core.storage.arrays import map_arrays

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.encoder import Encoder

TOWNS = [
    "Ashby",
    "Brell",
    "Corrin",
    "Dunlow",
    "Estwick",
    "Farrow",
    "Gantry",
    "Hollin",
    "Ivel",
    "Jarrow",
    "Kelmore",
    "Lund",
    "Netherby",
    "Oxley",
]
FACTS = [
    ("Marlo Venn", "designed", "Tallow Bridge"),
    ("Marlo Venn", "born in", "Osterby"),
    ("Tallow Bridge", "located in", "Norland"),
    ("Osterby", "famous for", "glass eels"),
    ("Marlo Venn", "married", "Ines Calder"),
    ("Ines Calder", "born in", "Port Hale"),
    ("Tallow Bridge", "opened in", "1871"),
    ("Marlo Venn", "drew", "Tallow Bridge"),
    ("Port Hale", "mirrors", "Port Hale"),
    ("Ivor Lund", "admires", "Marlo Venn"),
    *((town, "located in", "Norland") for town in TOWNS),
    *((town, "governed by", f"Mayor of {town}") for town in TOWNS),
]
HUB = "Norland"
TWO_HOPS = "Where was the designer of the Tallow Bridge born?"
ASKED = "Who designed what is located in the town where one born in it married, born in 1871?"
THREE_HOPS = "Where was the wife of the designer of the Tallow Bridge born?"


@pytest.fixture(scope="module", params=[True, False], ids=["sentences", "parts"])
def kb(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, encoder: Encoder
) -> KnowledgeBase:
    folder = tmp_path_factory.mktemp("paths")
    settings = BuildSettings() if request.param else BuildSettings(sentence_triples=0)
    sources = [write_facts(folder / "facts", FACTS)]
    KnowledgeBase.build(folder / "kb", sources, format="openie", settings=settings, encoder=encoder)
    return KnowledgeBase.open(folder / "kb", encoder=encoder)


@dataclass(frozen=True)
class Plain:
    """The graph of a knowledge base as its files say, and the vectors of triples and relations."""

    names: list[str]
    edges: list[tuple[int, int]]
    relation: list[str]
    n_entities: int
    facts: NDArray[np.float64]
    relations: NDArray[np.float64]

    def degree(self, node: int) -> int:
        return sum((head == node) + (tail == node) for head, tail in self.edges)

    def fan_out(self, node: int, triple: int) -> int:
        """How many triples leave a node, or lead to it, by the relation of one of them."""
        end = self.edges[triple].index(node)
        return sum(
            ends[end] == node and relation == self.relation[triple]
            for ends, relation in zip(self.edges, self.relation, strict=True)
        )

    def node(self, name: str) -> int:
        return self.names.index(name)


def plain(kb: KnowledgeBase) -> Plain:
    nodes = table_rows(kb.path, "entities"), table_rows(kb.path, "attributes")
    triples = table_rows(kb.path, "triples")
    folder = live_folder(kb.path) / "vectors"
    strings = map_arrays(folder / "strings.arrow")
    vectors = strings["vectors"].astype(np.float64)
    relations = vectors[strings["relation_string"][[row["relation"] for row in triples]]]
    if (folder / "triples.arrow").exists():
        facts = map_arrays(folder / "triples.arrow")["vectors"].astype(np.float64)
    else:
        node = strings["node_string"]
        facts = np.array(
            [
                vectors[node[row["head"]]] + relation + vectors[node[row["tail"]]]
                for row, relation in zip(triples, relations, strict=True)
            ]
        )
        facts /= np.linalg.norm(facts, axis=1, keepdims=True)
    names = [row["name"] for row in nodes[0]] + [row["value"] for row in nodes[1]]
    texts = [row["name"] for row in table_rows(kb.path, "relations")]
    edges = [(row["head"], row["tail"]) for row in triples]
    return Plain(names, edges, [texts[row["relation"]] for row in triples], len(nodes[0]), facts, relations)


def simple_paths(
    graph: Plain, nodes: list[int], triples: list[int], hops: int
) -> Iterator[tuple[list[int], list[int]]]:
    if triples:
        yield nodes, triples
    if len(triples) < hops:
        for triple, ends in enumerate(graph.edges):
            if nodes[-1] in ends:
                other = ends[1] if ends[0] == nodes[-1] else ends[0]
                if other not in nodes:
                    yield from simple_paths(graph, [*nodes, other], [*triples, triple], hops)


def cosine(rows: NDArray[np.float64], query: NDArray[np.float32]) -> float:
    total = rows.sum(axis=0)
    return float(total @ query / np.linalg.norm(total))


def words_f1(graph: Plain, asked: str, triples: Sequence[int]) -> float:
    """F1, by inverse document frequency, of the words of a chain's relations and those of a question."""
    relations = [set(lexical_tokens(name)) for name in sorted(set(graph.relation))]

    def weight(words: Iterable[str]) -> float:
        n = len(relations)
        holding = [sum(word in own for own in relations) for word in words]
        return sum(math.log(1 + (n - held + 0.5) / (held + 0.5)) for held in holding)

    wanted = Counter(word for word in lexical_tokens(asked) if any(word in own for own in relations))
    said = Counter(word for triple in triples for word in set(lexical_tokens(graph.relation[triple])))
    shared = (wanted & said).elements()
    strange = [word for word in lexical_tokens(asked) if not any(word in own for own in relations)]
    both = weight(wanted.elements()) + weight(strange) / 2 + weight(said.elements())
    return 2 * weight(shared) / both if both else 0.0


def score(
    graph: Plain, query: QueryVectors, asked: str, nodes: Sequence[int], triples: Sequence[int]
) -> float:
    hubs = sum(0.02 * math.log(1 + graph.degree(node)) for node in nodes[1:-1])
    values = sum(0.1 for node in nodes[1:-1] if node >= graph.n_entities)
    steps = zip(nodes, triples, strict=False)
    choices = sum(0.07 * math.log(graph.fan_out(node, triple)) for node, triple in steps)
    alike = cosine(graph.facts[list(triples)], query.question)
    related = cosine(graph.relations[list(triples)], query.residual)
    words = 0.5 * words_f1(graph, asked, triples)
    return alike + related + words + 0.1 * (len(triples) - 1) - hubs - values - choices


@pytest.mark.parametrize("max_hops", [1, 2, 3, 4])
@pytest.mark.parametrize("starts", [["Tallow Bridge"], ["Tallow Bridge", "Port Hale", "1871"]])
def test_a_wide_beam_finds_the_best_of_all_paths(kb: KnowledgeBase, max_hops: int, starts: list[str]) -> None:
    graph = plain(kb)
    query = QueryVectors(kb.encoder.encode_query(TWO_HOPS), kb.encoder.encode_query(ASKED))
    settings = RetrievalSettings(beam=100_000, max_hops=max_hops)
    words = kb.view.relation_words.asked(ASKED)
    found = find_paths(kb.view, query, words, {graph.node(name): 1.0 for name in starts}, settings)
    best: dict[frozenset[int], float] = {}
    for name in starts:
        for nodes, triples in simple_paths(graph, [graph.node(name)], [], max_hops):
            value = score(graph, query, ASKED, nodes, triples)
            best[frozenset(triples)] = max(value, best.get(frozenset(triples), -9.0))
    wanted = sorted(best.values(), reverse=True)[:20]
    assert [path.score for path in found] == pytest.approx(wanted, abs=2e-3)
    for path in found:
        assert path.score == pytest.approx(score(graph, query, ASKED, path.nodes, path.triples), abs=2e-3)
        for (here, there), triple in zip(pairwise(path.nodes), path.triples, strict=True):
            assert {here, there} == set(graph.edges[triple])
        assert len(set(path.nodes)) == len(path.nodes) == len(path.triples) + 1


def chain(kb: KnowledgeBase, question: str) -> list[list[tuple[str, str, str]]]:
    return [
        [(hit.head, hit.relation, hit.tail) for hit in path.triples] for path in kb.retrieve(question).paths
    ]


def test_a_chain_of_two_is_found(kb: KnowledgeBase) -> None:
    born, best = FACTS[1], chain(kb, TWO_HOPS)[0]
    assert best[0] in (FACTS[0], FACTS[7])
    assert best[1] == born
    texts = [chunk.id for chunk in kb.retrieve(TWO_HOPS).chunks[:5]]
    assert {"p0", "p1"} <= set(texts)


def test_a_chain_of_three_is_found(kb: KnowledgeBase) -> None:
    best = chain(kb, THREE_HOPS)[0]
    assert best[0] in (FACTS[0], FACTS[7])
    assert best[1:] == [FACTS[4], FACTS[5]]


@pytest.mark.parametrize("question", [TWO_HOPS, THREE_HOPS])
def test_a_hub_does_not_come_before_the_chain(kb: KnowledgeBase, question: str) -> None:
    through_hub = [
        any({HUB} <= {*first[::2]} & {*second[::2]} for first, second in pairwise(path))
        for path in chain(kb, question)
    ]
    assert True in through_hub
    assert not any(through_hub[:2])


def test_a_long_row_is_sampled(kb: KnowledgeBase) -> None:
    graph = plain(kb)
    query = QueryVectors(*[kb.encoder.encode_query("Which towns lie in Norland?")] * 2)
    settings = RetrievalSettings(beam=1000, max_hops=1, row_limit=4)
    words, start = kb.view.relation_words.asked("Which towns are located in it?"), {graph.node(HUB): 1.0}
    assert len(find_paths(kb.view, query, words, start, settings)) == 4
    assert len(find_paths(kb.view, query, words, start, RetrievalSettings(max_hops=1))) == 15


def test_a_narrow_beam_keeps_the_best_step(kb: KnowledgeBase) -> None:
    graph = plain(kb)
    query = QueryVectors(*[kb.encoder.encode_query("Who designed the Tallow Bridge?")] * 2)
    start, settings = {graph.node("Tallow Bridge"): 1.0}, RetrievalSettings(beam=1, max_hops=3)
    found = find_paths(kb.view, query, kb.view.relation_words.asked("designed"), start, settings)
    assert [len(path.triples) for path in sorted(found, key=lambda path: len(path.triples))] == [1, 2, 3]
    one, two, three = (path.triples for path in sorted(found, key=lambda path: len(path.triples)))
    assert two[:1] == one
    assert three[:2] == two


def test_without_a_start_there_is_no_path(kb: KnowledgeBase) -> None:
    query = QueryVectors(*[kb.encoder.encode_query("anything")] * 2)
    words, loop = kb.view.relation_words.asked("anything"), {plain(kb).node("glass eels"): 1.0}
    assert find_paths(kb.view, query, words, {}, RetrievalSettings()) == []
    found = find_paths(kb.view, query, words, loop, RetrievalSettings(max_hops=1))
    assert [len(path.triples) for path in found] == [1]


@pytest.mark.parametrize("change", [{"beam": 0}, {"max_hops": 0}, {"max_hops": 6}, {"row_limit": 0}])
def test_limits_out_of_range_are_refused(change: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        RetrievalSettings.model_validate(change)


@pytest.mark.parametrize("beam", [1, 2, 3, 7])
@pytest.mark.parametrize("max_hops", [2, 3, 5])
def test_a_beam_keeps_the_best_of_each_length(kb: KnowledgeBase, beam: int, max_hops: int) -> None:
    graph = plain(kb)
    query = QueryVectors(kb.encoder.encode_query(TWO_HOPS), kb.encoder.encode_query(ASKED))
    starts = [graph.node(name) for name in ("Tallow Bridge", "1871", "Port Hale")]
    settings = RetrievalSettings(beam=beam, max_hops=max_hops)
    words = kb.view.relation_words.asked(ASKED)
    found = find_paths(kb.view, query, words, dict.fromkeys(starts, 1.0), settings)
    best: dict[frozenset[int], float] = {}
    chains: list[tuple[list[int], list[int]]] = [([start], []) for start in starts]
    for _ in range(max_hops):
        longer = [
            one
            for nodes, triples in chains
            for one in simple_paths(graph, nodes, triples, len(triples) + 1)
            if len(one[1]) > len(triples)
        ]
        chains = sorted(longer, key=lambda chain: -score(graph, query, ASKED, *chain))[:beam]
        for nodes, triples in chains:
            value = score(graph, query, ASKED, nodes, triples)
            best[frozenset(triples)] = max(value, best.get(frozenset(triples), -9.0))
    wanted = sorted(best.values(), reverse=True)[:20]
    assert [path.score for path in found] == pytest.approx(wanted, abs=2e-3)


def test_where_no_index_of_relation_words_is_kept_one_is_built(kb: KnowledgeBase, tmp_path: Path) -> None:
    shutil.copytree(kb.path, tmp_path / "kb")
    folder = live_folder(tmp_path / "kb")
    shutil.rmtree(folder / "relation_terms")
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    manifest["files"] = {
        name: entry for name, entry in manifest["files"].items() if not name.startswith("relation_terms/")
    }
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    older = KnowledgeBase.open(tmp_path / "kb", encoder=kb.encoder)
    kept, built = kb.view.relation_words, older.view.relation_words
    np.testing.assert_array_equal(kept.said, built.said)
    np.testing.assert_array_equal(kept.asked(ASKED).agreement, built.asked(ASKED).agreement)
    assert chain(older, THREE_HOPS) == chain(kb, THREE_HOPS)


def test_a_name_that_is_called_like_a_relation_is_asked_for(tmp_path: Path, encoder: Encoder) -> None:
    facts = [
        ("glass eel", "hypernym", "fish"),
        ("hypernym", "opposite of", "hyponym"),
        ("fish", "hypernym", "animal"),
        ("Tallow Bridge", "built by", "Marlo Venn"),
    ]
    KnowledgeBase.build(
        tmp_path / "kb", [write_facts(tmp_path / "facts", facts)], format="openie", encoder=encoder
    )
    kb = KnowledgeBase.open(tmp_path / "kb", encoder=encoder)
    seen: list[str] = []

    class Listening:
        """The encoder, and what it was asked to encode."""

        def __getattr__(self, name: str) -> Any:
            return getattr(encoder, name)

        def encode_query(self, text: str) -> NDArray[np.float32]:
            seen.append(text)
            return encoder.encode_query(text)

    retriever = Retriever(kb.view, cast("Encoder", Listening()))
    best = retriever.retrieve("What is the hypernym of glass eel?").paths[0].triples[0]
    assert (best.head, best.relation, best.tail) == facts[0]
    assert "What is the hypernym of ?" in seen
