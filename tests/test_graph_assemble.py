"""Extractions become one graph that loses nothing, whatever the order in which they arrive."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bases import csr_edges, provenance_rows, write_openie
from ytrag_core.errors import GraphFormatError
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.recorded import read_openie
from ytrag_core.graph.assemble import assemble_graph

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.graph.tables import GraphTables

Mention = EntityMention
CHUNKS = {f"c{i}": i for i in range(5)}


@dataclass
class Node:
    kind: str
    name: str
    aliases: list[str]
    type: str
    chunks: list[int]
    degree: int


Named = tuple[str, str, str]


@dataclass
class Graph:
    """A graph by its keys: what the tables say, and what the definition says."""

    nodes: dict[str, Node] = field(default_factory=dict)
    triples: dict[Named, list[int]] = field(default_factory=dict)
    relations: dict[str, tuple[str, int]] = field(default_factory=dict)


def decoded(tables: GraphTables) -> Graph:
    """Read the tables, checking on the way that ids, counts and both CSR agree with each other."""
    entities, attributes = tables.entities.to_pylist(), tables.attributes.to_pylist()
    rows = [{"kind": "entity", **row} for row in entities]
    rows += [{"kind": "attribute", "name": row["value"], "type": "", **row} for row in attributes]
    assert [row["id"] for row in rows] == list(range(tables.n_nodes))
    assert tables.node_names().to_pylist() == [row["name"] for row in rows]
    for kind in (entities, attributes):
        assert [row["key"] for row in kind] == sorted(row["key"] for row in kind)
    relations = tables.relations.to_pylist()
    assert [row["id"] for row in relations] == list(range(len(relations)))
    triples = tables.triples.to_pylist()
    order = [(row["head"], row["tail"], row["relation"]) for row in triples]
    assert order == sorted(set(order))
    assert [row["id"] for row in triples] == list(range(len(triples)))
    out = [(row["head"], row["tail"], row["relation"], row["id"]) for row in triples]
    assert csr_edges(tables.out) == out
    assert sorted(csr_edges(tables.into)) == sorted((tail, head, *rest) for head, tail, *rest in out)
    stated = provenance_rows(tables.triple_chunks)
    named = provenance_rows(tables.node_chunks)
    assert [len(chunks) for chunks in stated] == [row["n_chunks"] for row in triples]
    assert [len(chunks) for chunks in named] == [row["n_mentions"] for row in rows]
    keys = [row["key"] for row in rows]
    relation_keys = [row["key"] for row in relations]
    assert tables.mentions().to_pylist() == [
        {"subject": subject, "id": i, "chunk": chunk}
        for subject, lists in (("node", named), ("triple", stated))
        for i, chunks in enumerate(lists)
        for chunk in chunks
    ]
    return Graph(
        {
            row["key"]: Node(row["kind"], row["name"], row["aliases"], row["type"], chunks, row["degree"])
            for row, chunks in zip(rows, named, strict=True)
        },
        {
            (keys[row["head"]], relation_keys[row["relation"]], keys[row["tail"]]): chunks
            for row, chunks in zip(triples, stated, strict=True)
        },
        {row["key"]: (row["name"], row["n_triples"]) for row in relations},
    )


def assembled(*extractions: Extraction, chunks: dict[str, int] | None = None) -> Graph:
    return decoded(assemble_graph(extractions, CHUNKS if chunks is None else chunks))


def test_the_form_seen_most_is_shown_and_the_others_are_aliases() -> None:
    graph = assembled(
        Extraction(
            "c0", entities=(Mention("ADA LOVELACE"),), triples=(("Ada  Lovelace", "wrote", "Note G"),)
        ),
        Extraction("c1", triples=(("“Ada Lovelace”", "born in", "London"),)),
        Extraction("c2", triples=(("Ada Lovelace", "met", "Babbage"), ("Ada Lovelace", "knew", "Babbage"))),
    )
    ada = graph.nodes["ada lovelace"]
    assert ada == Node("entity", "Ada Lovelace", ["ADA LOVELACE", "“Ada Lovelace”"], "", [0, 1, 2], 4)


def test_equally_frequent_forms_are_told_apart_by_code_point() -> None:
    graph = assembled(Extraction("c0", triples=(("bob", "met", "Eve"), ("Bob", "knew", "Eve"))))
    assert (graph.nodes["bob"].name, graph.nodes["bob"].aliases) == ("Bob", ["bob"])


def test_aliases_that_a_chunk_states_are_kept() -> None:
    graph = assembled(
        Extraction("c0", entities=(Mention("Ada", aliases=("Countess  of Lovelace", "ADA", "")),)),
        Extraction("c1", entities=(Mention("ada", aliases=("A. A. L.",)), Mention("Ada"))),
    )
    assert graph.nodes["ada"].aliases == ["A. A. L.", "Countess of Lovelace", "ada"]


def test_the_type_given_most_wins_and_an_empty_one_does_not_count() -> None:
    graph = assembled(
        Extraction("c0", entities=(Mention("Ada", "person"), Mention("Orvane"))),
        Extraction("c1", entities=(Mention("Ada"), Mention("Orvane", "place"))),
        Extraction("c2", entities=(Mention("ADA", "person"), Mention("Orvane", "country"))),
        Extraction("c3", entities=(Mention("Ada", "ship"), Mention("Ada"))),
    )
    assert graph.nodes["ada"].type == "person"
    assert graph.nodes["orvane"].type == "country"


def test_a_value_is_one_node_shared_by_all_that_have_it() -> None:
    graph = assembled(
        Extraction("c0", attributes=(("Ada", "founded", "2023"),)),
        Extraction("c1", triples=(("Bob", "founded", "2023."), ("Eve", "colour of", "red"))),
        Extraction("c2", attributes=(("Eve", "hair", "Red hair"),)),
    )
    assert graph.nodes["2023"] == Node("attribute", "2023", ["2023."], "", [0, 1], 2)
    assert graph.nodes["red hair"].kind == "attribute"
    assert graph.nodes["red"].kind == "entity"


@pytest.mark.parametrize(
    ("extraction", "key", "kind"),
    [
        (Extraction("c0", triples=(("Ada", "born", "1815"),)), "1815", "attribute"),
        (Extraction("c0", entities=(Mention("1815"),)), "1815", "attribute"),
        (Extraction("c0", triples=(("1815", "year of", "Waterloo"),)), "1815", "entity"),
        (Extraction("c0", attributes=(("Ada", "hair", "brown"),)), "brown", "attribute"),
        (
            Extraction("c0", entities=(Mention("brown"),), attributes=(("Ada", "hair", "brown"),)),
            "brown",
            "entity",
        ),
        (Extraction("c0", attributes=(("brown", "kind", "colour"),)), "brown", "entity"),
    ],
)
def test_values_and_entities(extraction: Extraction, key: str, kind: str) -> None:
    assert assembled(extraction).nodes[key].kind == kind


def test_a_schema_may_say_which_relations_give_values() -> None:
    extraction = Extraction("c0", triples=(("Ada", "hair", "brown"), ("Ada", "knew", "Bob")))
    tables = assemble_graph([extraction], CHUNKS, is_attribute=lambda relation: relation == "hair")
    kinds = {key: node.kind for key, node in decoded(tables).nodes.items()}
    assert kinds == {"ada": "entity", "bob": "entity", "brown": "attribute"}


def test_a_triple_keeps_every_chunk_that_states_it() -> None:
    graph = assembled(
        Extraction("c4", triples=(("Ada", "born in", "London"), ("ADA", "Born_In", "London"))),
        Extraction("c1", triples=(("Ada", "born in", "London"),)),
        Extraction("c2", triples=(("Ada", "lived in", "London"),)),
    )
    assert graph.triples == {("ada", "born in", "london"): [1, 4], ("ada", "lived in", "london"): [2]}
    assert graph.relations == {"born in": ("born in", 1), "lived in": ("lived in", 1)}
    assert graph.nodes["london"].chunks == [1, 2, 4]


def test_a_self_loop_is_an_edge_like_any_other() -> None:
    graph = assembled(Extraction("c3", triples=(("Ada", "cites", "“ada”"),)))
    assert graph.triples == {("ada", "cites", "ada"): [3]}
    assert graph.nodes["ada"].degree == 2


def test_nothing_gives_an_empty_graph() -> None:
    for extractions in ((), (Extraction("c0"),)):
        assert assembled(*extractions) == Graph()
    assert assembled(chunks={}) == Graph()


def test_an_unknown_chunk_is_refused() -> None:
    with pytest.raises(GraphFormatError, match=r"'c9'.*5 chunks"):
        assembled(Extraction("c0"), Extraction("c9", triples=(("a", "b", "c"),)))


def test_a_triple_without_a_visible_part_takes_no_name_with_it() -> None:
    graph = assembled(Extraction("c2", triples=(("\u200b", "met", "Bob"), ("Ada", "\u200b", "2023"))))
    assert graph.triples == {}
    assert {key: (node.kind, node.chunks) for key, node in graph.nodes.items()} == {
        "ada": ("entity", [2]),
        "bob": ("entity", [2]),
        "2023": ("attribute", [2]),
    }


def key_of(form: str) -> str:
    """The key of the forms below, all of which are plain but for case, blanks, quotes and a full stop."""
    return " ".join(form.strip(" “”.").lower().split())


def most(counts: Counter[str]) -> str:
    return min(counts, key=lambda form: (-counts[form], form)) if counts else ""


def by_definition(extractions: Sequence[Extraction]) -> Graph:
    """Group the surface forms by key, in plain dictionaries."""
    forms: dict[str, Counter[str]] = {}
    types: dict[str, Counter[str]] = {}
    stated: dict[str, set[str]] = {}
    node_chunks: dict[str, set[int]] = {}
    degree: Counter[str] = Counter()
    heads: set[str] = set()
    values: set[str] = set()
    names: set[str] = set()
    relations: dict[str, Counter[str]] = {}
    triples: dict[Named, set[int]] = {}

    def see(form: str, chunk: int) -> str:
        key = key_of(form)
        forms.setdefault(key, Counter())[form] += 1
        node_chunks.setdefault(key, set()).add(chunk)
        return key

    for extraction in extractions:
        chunk = CHUNKS[extraction.chunk_id]
        for mention in extraction.entities:
            key = see(mention.name, chunk)
            names.add(key)
            types.setdefault(key, Counter())[mention.type] += 1 if mention.type else 0
            stated.setdefault(key, set()).update(form for form in mention.aliases if key_of(form) != key)
        for is_value, facts in ((False, extraction.triples), (True, extraction.attributes)):
            for head_form, relation_form, tail_form in facts:
                head, tail = see(head_form, chunk), see(tail_form, chunk)
                relation = key_of(relation_form.replace("_", " "))
                relations.setdefault(relation, Counter())[relation_form] += 1
                triples.setdefault((head, relation, tail), set()).add(chunk)
                heads.add(head)
                (values if is_value else names).add(tail)
    for head, _, tail in triples:
        degree.update([head, tail])
    graph = Graph(triples={triple: sorted(chunks) for triple, chunks in triples.items()})
    for key, counts in forms.items():
        literal = key[0].isdigit()
        is_attribute = key not in heads and (literal or (key in values and key not in names))
        best = most(counts)
        shown = " ".join(best.split())
        others = ({" ".join(form.split()) for form in counts} | stated.get(key, set())) - {shown}
        label = most(+types.get(key, Counter()))
        graph.nodes[key] = Node(
            "attribute" if is_attribute else "entity",
            shown,
            sorted(others),
            "" if is_attribute else label,
            sorted(node_chunks[key]),
            degree[key],
        )
    for key, counts in relations.items():
        n_triples = sum(1 for triple in triples if triple[1] == key)
        graph.relations[key] = (" ".join(most(counts).split()), n_triples)
    return graph


FORMS = st.sampled_from(
    ["Ada", "ada", "ADA", "“Ada”", "Bob", " Bob", "bob  b", "bob b", "Eve", "eve.", "1963", "“1963”", "12 km"]
)
RELATIONS = st.sampled_from(["knows", "Knows", "born in", "born_in", "BORN  in"])
FACTS = st.lists(st.tuples(FORMS, RELATIONS, FORMS), max_size=5).map(tuple)
MENTIONS = st.lists(
    st.builds(
        Mention,
        name=FORMS,
        type=st.sampled_from(["", "person", "place"]),
        aliases=st.lists(st.sampled_from(["Ada", "Lady A", "The Bob"]), max_size=2).map(tuple),
    ),
    max_size=4,
).map(tuple)


@st.composite
def extraction_lists(draw: st.DrawFn) -> list[Extraction]:
    chunks = draw(st.lists(st.sampled_from(sorted(CHUNKS)), unique=True, max_size=5))
    return [
        Extraction(chunk, entities=draw(MENTIONS), triples=draw(FACTS), attributes=draw(FACTS))
        for chunk in chunks
    ]


@given(extraction_lists())
def test_the_graph_is_what_the_definition_says(extractions: list[Extraction]) -> None:
    assert assembled(*extractions) == by_definition(extractions)


@given(extraction_lists(), st.randoms(use_true_random=False))
def test_the_order_of_arrival_changes_nothing(extractions: list[Extraction], rng: Any) -> None:
    shuffled = list(extractions)
    rng.shuffle(shuffled)
    first, second = (assemble_graph(items, CHUNKS) for items in (extractions, shuffled))
    for name in ("entities", "attributes", "relations", "triples"):
        assert getattr(first, name).equals(getattr(second, name))
    assert first.mentions().equals(second.mentions())


def test_malformed_triples_lose_nothing_else(tmp_path: Path) -> None:
    corpus = [{"id": f"c{i}", "title": f"Passage {i}", "text": f"Text {i}."} for i in range(5)]
    good: list[list[object]] = [
        ["Ada", "born in", "London"],
        ["Ada", "met", "Bob"],
        ["Bob", "founded", "1840"],
    ]
    bad: list[object] = [["Ada", "knew"], ["Ada", "", "Eve"], ["Ada", "has", 3], [], "Ada knew Eve", None]
    bad += [["a", "b", "c", "d"], [["Ada"], "knew", "Eve"], ["\u200b", "knew", "Eve"], [" ", "knew", "Eve"]]
    mixed = [fact for pair in zip(bad, [*good, *good, *good, *good], strict=False) for fact in pair]
    graphs = []
    for folder, facts in (("mixed", mixed), ("good", good)):
        records = [{"passage_id": f"c{i}", "entities": ["Ada"], "triples": facts} for i in range(4)]
        source = read_openie(write_openie(tmp_path / folder, corpus, records))
        assert source.n_malformed == 4 * sum(fact not in good for fact in facts)
        assert len(source.problems) == (4 if folder == "mixed" else 0)
        graphs.append(decoded(assemble_graph(source.extractions.values(), CHUNKS)))
    assert graphs[0] == graphs[1]
    assert len(graphs[0].triples) == 3
    assert {tuple(chunks) for chunks in graphs[0].triples.values()} == {(0, 1, 2, 3)}
