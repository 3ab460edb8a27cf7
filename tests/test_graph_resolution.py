"""Names of several keys become one node where it is sure; names of one key stay two where that is sure."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.graph.assemble import assemble_graph
from ytrag_core.graph.links import Link, join_units, pair_of
from ytrag_core.graph.resolution import Resolver, Stages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.graph.tables import GraphTables

Mention = EntityMention
CHUNKS = {f"c{i}": i for i in range(8)}


def graph_of(
    *extractions: Extraction,
    stages: Stages = "similar",
    together: Sequence[tuple[str, str]] = (),
    apart: Sequence[tuple[str, str]] = (),
) -> GraphTables:
    resolver = Resolver(stages, together=together, apart=apart)
    return assemble_graph(extractions, CHUNKS, resolver=resolver)


def names(graph: GraphTables) -> list[str]:
    found: list[str] = graph.entities["name"].to_pylist()
    return found


def aliases(graph: GraphTables, name: str) -> list[str]:
    (row,) = [row for row in graph.entities.to_pylist() if row["name"] == name]
    listed: list[str] = row["aliases"]
    return listed


def facts(graph: GraphTables) -> set[tuple[str, str, str]]:
    nodes, relations = graph.node_names().to_pylist(), graph.relations["name"].to_pylist()
    return {
        (nodes[row["head"]], relations[row["relation"]], nodes[row["tail"]])
        for row in graph.triples.to_pylist()
    }


IBM = (
    Extraction(
        "c0",
        entities=(Mention("Intl. Business Machines", aliases=("IBM",)),),
        triples=(("Intl. Business Machines", "makes", "mainframes"),),
    ),
    Extraction("c1", triples=(("IBM", "founded by", "Charles Flint"), ("IBM", "based in", "Armonk"))),
)


def test_an_alias_that_the_text_states_is_the_same_thing() -> None:
    graph = graph_of(*IBM, stages="aliases")
    assert "Intl. Business Machines" not in names(graph)
    assert aliases(graph, "IBM") == ["Intl. Business Machines"]
    assert {head for head, _, _ in facts(graph)} == {"IBM"}
    assert graph.merged is not None
    kept, came = graph.merged.merges.to_pylist()
    assert (kept["member"], kept["kind"], kept["chunks"]) == ("IBM", "", [1])
    assert (came["member"], came["kind"], came["linked_to"]) == ("Intl. Business Machines", "alias", "IBM")
    assert (came["chunks"], came["evidence"]) == ([0], "stated in 1 passage")
    assert sorted([*kept["triples"], *came["triples"]]) == [0, 1, 2]


def test_exact_leaves_aliases_apart() -> None:
    graph = graph_of(*IBM, stages="exact")
    assert {"IBM", "Intl. Business Machines"} <= set(names(graph))
    assert graph.merged is None


def test_a_triple_may_state_it_too() -> None:
    said = Extraction("c0", triples=(("Salt March", "also known as", "Dandi March"),))
    other = Extraction("c1", triples=(("Dandi March", "led by", "Gandhi"),))
    assert len(names(graph_of(said, other, stages="aliases"))) == 2
    strange = Extraction("c0", triples=(("Salt March", "also known as", "Gandhi"),))
    assert len(names(graph_of(strange, other, stages="aliases"))) == 3


@pytest.mark.parametrize(
    ("name", "alias"),
    [("Henrik Ibsen", "Ibsen"), ("Mercury (planet)", "Mercury"), ("贾宝玉", "宝玉"), ("Dollar", "$")],
)
def test_a_part_of_a_name_is_no_name_of_its_own(name: str, alias: str) -> None:
    said = Extraction("c0", entities=(Mention(name, aliases=(alias,)), Mention(alias)))
    elsewhere = Extraction("c1", triples=((alias, "met", "Somebody"),))
    assert {name, alias} <= set(names(graph_of(said, elsewhere)))


def test_a_part_of_a_name_means_it_where_it_stands_beside_it_alone() -> None:
    said = Extraction(
        "c0", entities=(Mention("林黛玉", aliases=("黛玉",)),), triples=(("黛玉", "进", "贾府"),)
    )
    assert len(names(graph_of(said, Extraction("c1", triples=(("林黛玉", "作", "诗"),))))) == 3


def test_an_alias_of_several_things_is_none() -> None:
    graph = graph_of(
        Extraction("c0", entities=(Mention("Country Music Association", aliases=("CMA",)), Mention("CMA"))),
        Extraction("c1", entities=(Mention("Common Monetary Area", aliases=("CMA",)), Mention("CMA"))),
        stages="aliases",
    )
    assert len(names(graph)) == 3


def test_variants_join_and_types_that_exclude_each_other_do_not() -> None:
    apart = (
        Extraction("c0", entities=(Mention("St. Louis", "place"),)),
        Extraction("c1", entities=(Mention("Saint Louis", "person"),)),
    )
    assert len(names(graph_of(*apart))) == 2
    same = (apart[0], Extraction("c1", entities=(Mention("Saint Louis", "city"),)))
    assert len(names(graph_of(*same))) == 1


def test_a_bare_name_that_fits_several_goes_with_none() -> None:
    said = [
        Extraction(
            f"c{i}", entities=(Mention("George Bush", "person"), Mention(name, "person"), Mention("Barbara"))
        )
        for i, name in enumerate(("George W. Bush", "George Herbert Bush"))
    ]
    assert len(names(graph_of(*said))) == 4
    assert len(names(graph_of(said[0]))) == 2


def test_relatives_stay_apart() -> None:
    said = Extraction(
        "c0",
        entities=(Mention("John Taylor", "person"), Mention("John H. Taylor", "person")),
        triples=(("John H. Taylor", "grandson of", "John Taylor"),),
    )
    assert len(names(graph_of(said))) == 2


def test_a_person_and_a_planet_of_one_name_are_two() -> None:
    planet = Extraction("c0", (Mention("Mercury", "place"),), (("Mercury", "orbits", "Sun"),))
    singer = Extraction(
        "c1", entities=(Mention("Mercury", "person"),), triples=(("MERCURY", "sang with", "Queen"),)
    )
    unsaid = Extraction("c2", triples=(("Mercury", "is near", "Venus"),))
    more = Extraction("c3", entities=(Mention("Mercury", "place"),))
    graph = graph_of(planet, singer, unsaid, more)
    rows = [row for row in graph.entities.to_pylist() if row["key"] == "mercury"]
    assert [row["type"] for row in rows] == ["place", "person"]
    assert [row["n_mentions"] for row in rows] == [3, 1]
    assert graph.merged is not None
    assert [row["sense"] for row in graph.merged.senses.to_pylist()] == ["place", "person"]
    forced = graph_of(planet, singer, unsaid, more, together=[("mercury\tperson", "mercury\tplace")])
    assert names(forced).count("Mercury") == 1


def test_types_that_contradict_in_one_context_are_a_slip() -> None:
    one = Extraction("c0", entities=(Mention("Rama", "person"),), triples=(("Rama", "ruled", "Ayodhya"),))
    other = Extraction("c1", entities=(Mention("Rama", "place"),), triples=(("Rama", "left", "Ayodhya"),))
    assert names(graph_of(one, other)).count("Rama") == 1


CHAIN = tuple(Extraction(f"c{i}", triples=((name, "wrote", f"Book {name}"),)) for i, name in enumerate("ABC"))


def test_a_chain_of_merges_falls_apart_where_its_link_is_split() -> None:
    chained = graph_of(*CHAIN, stages="exact", together=[("a", "b"), ("b", "c")])
    assert names(chained) == ["A", "Book A", "Book B", "Book C"]
    split = graph_of(
        *CHAIN, stages="exact", together=[("a", "b"), ("b", "c")], apart=[("a", "b"), ("b", "c")]
    )
    assert split.entities.equals(graph_of(*CHAIN, stages="exact").entities)
    kept = graph_of(*CHAIN, stages="exact", together=[("b", "c")], apart=[("a", "b"), ("a", "c")])
    assert [name for name in names(kept) if len(name) == 1] == ["A", "B"]


def test_rules_about_what_is_not_there_have_no_effect() -> None:
    graph = graph_of(*CHAIN, stages="exact", together=[("a", "nobody")], apart=[("a", "no one")])
    assert graph.merged is None


def test_a_merge_changes_no_sentence_and_loses_no_wording() -> None:
    said = (
        Extraction("c0", triples=(("A", "met", "X"), ("B", "met", "X"))),
        Extraction("c1", triples=(("B", "saw", "A"),)),
    )
    graph = graph_of(*said, stages="exact", together=[("a", "b")])
    assert graph.merged is not None
    worded: dict[int, list[tuple[str, str]]] = {}
    for row in graph.merged.restated.to_pylist():
        worded.setdefault(row["triple"], []).append((row["head"], row["tail"]))
    assert sorted(worded.values()) == [[("A", "X"), ("B", "X")], [("B", "A")]]


def random_extractions(seed: int) -> list[Extraction]:
    rng = random.Random(seed)
    pool = [
        *("Ada Lovelace", "Ada K. Lovelace", "Dr. Ada Lovelace", "The Grand Hotel", "Grand Hotel", "Paris"),
        *("北京", "北京市", "曹雪芹", "曹雪芹先生", "U.S.", "United States", "US", "1815", "Paris (city)"),
    ]
    types = ["", "person", "place", "work"]

    def mention() -> Mention:
        stated = (rng.choice(pool),) if rng.random() < 0.2 else ()
        return Mention(rng.choice(pool), rng.choice(types), stated)

    def triple() -> tuple[str, str, str]:
        return rng.choice(pool), rng.choice(["met", "also known as"]), rng.choice(pool)

    return [
        Extraction(
            chunk, tuple(mention() for _ in range(rng.randrange(4))), tuple(triple() for _ in range(3))
        )
        for chunk in CHUNKS
    ]


@given(st.integers(0, 10_000))
def test_the_order_of_extractions_does_not_matter_and_nothing_is_lost(seed: int) -> None:
    said = random_extractions(seed)
    graph = graph_of(*said)
    shuffled = random.Random(seed + 1).sample(said, len(said))
    again = graph_of(*shuffled)
    for table in ("entities", "attributes", "relations", "triples"):
        assert getattr(graph, table).equals(getattr(again, table))
    exact = graph_of(*said, stages="exact")
    assert graph.n_entities <= exact.n_entities + len(getattr(graph.merged, "senses", ()))
    forms = {name for row in exact.entities.to_pylist() for name in (row["name"], *row["aliases"])}
    kept = {name for row in graph.entities.to_pylist() for name in (row["name"], *row["aliases"])}
    assert forms <= kept
    assert {*exact.node_chunks.chunks.tolist()} == {*graph.node_chunks.chunks.tolist()}
    if graph.merged is not None:
        for row in graph.merged.merges.to_pylist():
            span = graph.node_chunks.indptr[row["entity"] : row["entity"] + 2]
            assert set(row["chunks"]) <= set(graph.node_chunks.chunks[span[0] : span[1]].tolist())
            ends = [(graph.head[triple], graph.tail[triple]) for triple in row["triples"]]
            assert all(row["entity"] in pair for pair in ends)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 99)), max_size=25),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=6),
)
def test_groups_hold_no_pair_that_stays_apart(
    rows: list[tuple[int, int, int]], enemies: list[tuple[int, int]]
) -> None:
    links = [Link(*pair_of(a, b), "alias", score / 100, "") for a, b, score in rows if a != b]
    apart = [pair_of(a, b) for a, b in enemies if a != b]
    groups, joined = join_units(10, links, apart, lambda ours, theirs: True, np.ones(10, np.int64))
    assert all(groups[a] != groups[b] for a, b in apart)
    assert len(joined) == 10 - len(set(groups.tolist()))
    for link in links:
        a, b = (
            {unit for unit in range(10) if groups[unit] == groups[end]} for end in (link.first, link.second)
        )
        assert a == b or any(pair_of(x, y) in apart for x in a for y in b)
