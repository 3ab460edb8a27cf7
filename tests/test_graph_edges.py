"""A graph from Parquet files: ids are the identity, and what cannot be used is reported, not fatal."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bases import csr_edges, provenance_rows, write_edges
from ytrag_core.errors import GraphFormatError
from ytrag_core.graph import dictionary, edges, parquet
from ytrag_core.graph.edges import EdgeSource, read_edges

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.graph.tables import GraphTables

Columns = dict[str, Any]
NODES: Columns = {
    "id": [30, 10, 20, 40],
    "name": ["Springfield", "Springfield", "Illinois", "Oregon"],
    "type": ["city", "city", "state", "state"],
}
EDGES: Columns = {
    "src": [10, 30, 20],
    "relation": ["located in", "located in", "borders"],
    "dst": [20, 40, 20],
}


def read(folder: Path, nodes: Columns | pa.Table, edges: Columns | pa.Table) -> EdgeSource:
    return read_edges(write_edges(folder, as_table(nodes), as_table(edges)))


def as_table(columns: Columns | pa.Table) -> pa.Table:
    return columns if isinstance(columns, pa.Table) else pa.table(columns)


def named_triples(graph: GraphTables) -> list[tuple[str, str, str]]:
    """Triples by given id and relation name."""
    ids = graph.entities["external_id"].to_pylist()
    relations = graph.relations["name"].to_pylist()
    return [
        (ids[row["head"]], relations[row["relation"]], ids[row["tail"]]) for row in graph.triples.to_pylist()
    ]


def same_tables(first: GraphTables, second: GraphTables) -> bool:
    names = ("entities", "attributes", "relations", "triples")
    return all(getattr(first, name).equals(getattr(second, name)) for name in names)


def test_the_given_ids_are_the_identity(tmp_path: Path) -> None:
    source = read(tmp_path, NODES, EDGES)
    graph = source.graph
    assert source.problems == ()
    assert (graph.n_entities, graph.n_nodes, graph.attributes.num_rows) == (4, 4, 0)
    assert graph.entities["external_id"].to_pylist() == ["10", "20", "30", "40"]
    assert graph.entities["name"].to_pylist() == ["Springfield", "Illinois", "Springfield", "Oregon"]
    assert graph.entities["key"].to_pylist() == ["springfield", "illinois", "springfield", "oregon"]
    assert graph.entities["type"].to_pylist() == ["city", "state", "city", "state"]
    assert graph.entities["degree"].to_pylist() == [1, 3, 1, 1]
    assert named_triples(graph) == [
        ("10", "located in", "20"),
        ("20", "borders", "20"),
        ("30", "located in", "40"),
    ]
    assert provenance_rows(graph.triple_chunks) == [[], [], []]
    assert provenance_rows(graph.node_chunks) == [[], [], [], []]


def test_both_directions_agree_with_the_triples(tmp_path: Path) -> None:
    rng = random.Random(7)
    n_nodes, n_edges = 60, 500
    nodes = {"id": list(range(n_nodes)), "name": [f"n{i % 20}" for i in range(n_nodes)]}
    edges = [
        (rng.randrange(n_nodes), rng.choice(["a", "b", "c d"]), rng.randrange(n_nodes))
        for _ in range(n_edges)
    ]
    graph = read(
        tmp_path,
        nodes,
        {name: list(column) for name, column in zip(EDGES, zip(*edges, strict=True), strict=True)},
    ).graph
    relations = {name: row for row, name in enumerate(["a", "b", "c d"])}
    wanted = sorted({(src, dst, relations[relation]) for src, relation, dst in edges})
    assert csr_edges(graph.out) == [(*edge, i) for i, edge in enumerate(wanted)]
    into = csr_edges(graph.into)
    assert [row[:2] for row in into] == sorted(row[:2] for row in into)
    assert sorted(into) == sorted((dst, src, relation, i) for i, (src, dst, relation) in enumerate(wanted))
    degree = np.bincount([node for src, dst, _ in wanted for node in (src, dst)], minlength=n_nodes)
    assert graph.entities["degree"].to_pylist() == degree.tolist()
    counts = [sum(edge[2] == relation for edge in wanted) for relation in range(3)]
    assert graph.relations["n_triples"].to_pylist() == counts


TYPES = [
    pa.int8(),
    pa.int64(),
    pa.uint16(),
    pa.string(),
    pa.large_string(),
    pa.dictionary(pa.int8(), pa.string()),
]


@pytest.mark.parametrize("node_type", TYPES, ids=str)
@pytest.mark.parametrize("edge_type", TYPES, ids=str)
def test_ids_may_be_integers_or_strings_in_either_file(
    tmp_path: Path, node_type: pa.DataType, edge_type: pa.DataType
) -> None:
    def typed(column: list[int], kind: pa.DataType) -> pa.Array:
        ints = pa.array(column)
        return ints.cast(kind) if pa.types.is_integer(kind) else ints.cast(pa.string()).cast(kind)

    nodes = as_table(NODES).set_column(0, "id", typed(NODES["id"], node_type))
    edges = pa.table(
        {
            "src": typed(EDGES["src"], edge_type),
            "relation": EDGES["relation"],
            "dst": typed(EDGES["dst"], edge_type),
        }
    )
    source = read(tmp_path, nodes, edges)
    assert source.problems == ()
    assert named_triples(source.graph) == named_triples(read(tmp_path, NODES, EDGES).graph)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_text_may_be_large_or_dictionary_encoded(tmp_path: Path, kind: pa.DataType) -> None:
    nodes = {"id": NODES["id"], **{name: pa.array(NODES[name]).cast(kind) for name in ("name", "type")}}
    edges = {**EDGES, "relation": pa.array(EDGES["relation"]).cast(kind)}
    source = read(tmp_path, nodes, edges)
    assert same_tables(source.graph, read(tmp_path, NODES, EDGES).graph)


@pytest.mark.parametrize("as_id", [int, "Q{}".format], ids=["numbers", "strings"])
def test_the_size_of_batches_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_id: Any
) -> None:
    rng = random.Random(3)
    n_nodes, n_edges = 40, 200
    ids = [*rng.sample(range(100), n_nodes), 7, 7, None]
    nodes = {
        "id": [None if i is None else as_id(i) for i in ids],
        "name": [rng.choice(["Ada", "ada", " ", "Bob  B", None, "Eve\n"]) for _ in ids],
        "type": [rng.choice(["x", "y", None]) for _ in ids],
    }
    edge_table = {
        "src": [as_id(rng.randrange(100)) for _ in range(n_edges)],
        "relation": [rng.choice(["r", "R", "s", None, " "]) for _ in range(n_edges)],
        "dst": [as_id(rng.randrange(100)) for _ in range(n_edges)],
    }
    whole = read(tmp_path, nodes, edge_table)
    monkeypatch.setattr(parquet, "_BATCH_ROWS", 7)
    monkeypatch.setattr(dictionary, "_PENDING_ROWS", 5)
    monkeypatch.setattr(edges, "_LOOKUP_ROWS", 9)
    by_batch = read(tmp_path, nodes, edge_table)
    assert same_tables(whole.graph, by_batch.graph)
    assert whole.problems == by_batch.problems
    assert len(whole.problems) == 5


def test_the_same_id_of_two_types_in_the_edges(tmp_path: Path) -> None:
    table = {"src": [10, 30], "relation": ["r", "r"], "dst": ["20", "11"]}
    source = read(tmp_path, NODES, table)
    assert named_triples(source.graph) == [("10", "r", "20")]
    assert len(source.problems) == 1


def test_string_ids_are_ordered_as_strings(tmp_path: Path) -> None:
    nodes = {"id": ["Q9", "Q10", "Q1"], "name": ["nine", "ten", "one"]}
    graph = read(tmp_path, nodes, {"src": ["Q9"], "relation": ["after"], "dst": ["Q1"]}).graph
    assert graph.entities["external_id"].to_pylist() == ["Q1", "Q10", "Q9"]
    assert graph.entities["type"].to_pylist() == ["", "", ""]
    assert named_triples(graph) == [("Q9", "after", "Q1")]


def test_an_id_given_twice_counts_once(tmp_path: Path) -> None:
    nodes = {"id": [2, 1, 2, 2], "name": ["b", "a", "c", "d"]}
    source = read(tmp_path, nodes, {"src": [2], "relation": ["r"], "dst": [1]})
    assert source.graph.entities["name"].to_pylist() == ["a", "b"]
    assert [problem.reason for problem in source.problems] == [
        "2 nodes repeat an id (such as [2, 2]); the first by name counts"
    ]


def test_nulls_and_unknown_ids_are_set_aside(tmp_path: Path) -> None:
    nodes = {"id": [1, None, 2, 3], "name": ["a", "lost", None, " "], "type": ["x", "y", None, "z"]}
    edges = {
        "src": [1, 1, None, 9, 2, 1, 1],
        "relation": ["r", "r", "r", "r", None, "r", " "],
        "dst": [2, 7, 1, 2, 3, 2, 3],
    }
    source = read(tmp_path, nodes, edges)
    assert source.graph.entities["external_id"].to_pylist() == ["1", "2", "3"]
    assert source.graph.entities["name"].to_pylist() == ["a", "2", "3"]
    assert source.graph.entities["type"].to_pylist() == ["x", "", "z"]
    assert named_triples(source.graph) == [("1", "r", "2")]
    reasons = [(problem.source.rsplit("/", 1)[-1], problem.reason) for problem in source.problems]
    assert reasons == [
        ("nodes.parquet", "1 times a node without an id (rows 2); set aside"),
        ("nodes.parquet", "2 nodes have no name; their id stands in for it"),
        (
            "edges.parquet",
            "3 times an edge whose src or dst is null or not in nodes.parquet (rows 2, 3, 4); set aside",
        ),
        ("edges.parquet", "2 times an edge without a relation (rows 5, 7); set aside"),
    ]


def test_a_graph_without_edges_is_a_graph(tmp_path: Path) -> None:
    empty = pa.table(
        {
            "src": pa.array([], pa.int64()),
            "relation": pa.array([], pa.string()),
            "dst": pa.array([], pa.int64()),
        }
    )
    graph = read(tmp_path, NODES, empty).graph
    assert (graph.n_entities, graph.n_triples, graph.relations.num_rows) == (4, 0, 0)
    assert csr_edges(graph.out) == csr_edges(graph.into) == []


@pytest.mark.parametrize(
    ("nodes", "edges", "message"),
    [
        ({"id": [1]}, EDGES, r"nodes\.parquet has the columns \['id'\]; \['name'\]"),
        (NODES, {"source": [1], "relation": ["r"]}, r"edges\.parquet.*\['src', 'dst'\]"),
        ({"id": [1.5], "name": ["a"]}, EDGES, r"'id' is of type double"),
        ({"id": [b"a"], "name": ["a"]}, EDGES, r"'id' is of type binary"),
        ({"id": [1], "name": [["a"]]}, EDGES, r"'name' is of type list"),
        ({"id": pa.array([2**64 - 1], pa.uint64()), "name": ["a"]}, EDGES, r"'id'.*64"),
        (NODES, {**EDGES, "dst": [[1], [2], [3]]}, r"'dst' is of type list"),
        ({"id": pa.array([None], pa.int64()), "name": ["a"]}, EDGES, r"no node with an id"),
        ({"id": pa.array([], pa.int64()), "name": pa.array([], pa.string())}, EDGES, r"no node with an id"),
    ],
)
def test_wrong_columns_are_refused(tmp_path: Path, nodes: Columns, edges: Columns, message: str) -> None:
    with pytest.raises(GraphFormatError, match=message):
        read(tmp_path, nodes, edges)


@pytest.mark.parametrize("name", ["nodes.parquet", "edges.parquet"])
def test_a_missing_or_broken_file_is_refused(tmp_path: Path, name: str) -> None:
    write_edges(tmp_path, as_table(NODES), as_table(EDGES))
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(GraphFormatError, match=rf"{name} is not a readable Parquet file"):
        read_edges(tmp_path)
    path.unlink()
    with pytest.raises(GraphFormatError, match=rf"{name} does not exist; .*nodes\.parquet.*edges\.parquet"):
        read_edges(tmp_path)


NODE_ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 6)),
        st.sampled_from(["a", "A", "b", "", None]),
        st.sampled_from(["", "x", None]),
    ),
    min_size=1,
    max_size=10,
).filter(lambda rows: any(row[0] is not None for row in rows))
EDGE_ROWS = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(0, 7)),
        st.sampled_from(["r", "R", "born_in", "born in", None]),
        st.integers(0, 7),
    ),
    max_size=15,
)


def as_columns(names: str, rows: list[Any], kinds: list[pa.DataType]) -> pa.Table:
    return pa.table(
        {
            name: pa.array([row[i] for row in rows], kind)
            for i, (name, kind) in enumerate(zip(names.split(), kinds, strict=True))
        }
    )


@given(NODE_ROWS, EDGE_ROWS, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, nodes: list[Any], edges: list[Any], rng: Any
) -> None:
    folder = tmp_path_factory.mktemp("edges")
    graphs = []
    for _ in range(2):
        graphs.append(
            read(
                folder,
                as_columns("id name type", nodes, [pa.int64(), pa.string(), pa.string()]),
                as_columns("src relation dst", edges, [pa.int64(), pa.string(), pa.int64()]),
            ).graph
        )
        rng.shuffle(nodes)
        rng.shuffle(edges)
    assert same_tables(*graphs)
    known = {row[0] for row in nodes} - {None}
    assert graphs[0].n_entities == len(known)
    assert set(named_triples(graphs[0])) == {
        (str(src), name, str(dst))
        for src, relation, dst in edges
        if src in known and dst in known and relation is not None
        for name in graphs[0].relations["name"].to_pylist()
        if name.lower().replace("_", " ") == relation.lower().replace("_", " ")
    }


@pytest.mark.slow
def test_a_million_nodes_are_kept_apart(shared_data: Path) -> None:
    folder = shared_data / "large_kg"
    source = read_edges(folder)
    graph = source.graph
    assert source.problems == ()
    assert (graph.n_entities, graph.n_nodes, graph.n_triples) == (1_082_003, 1_082_003, 1_637_956)
    names = graph.entities["name"]
    assert len(names.unique()) == 737_419
    given_ids = pq.read_table(folder / "nodes.parquet", columns=["id"])["id"].cast(pa.string())
    assert len(given_ids.unique()) == 1_082_003
    assert sorted(graph.entities["external_id"].to_pylist()) == sorted(given_ids.to_pylist())
    romania = [row for row, name in enumerate(names.to_pylist()) if name == "Romania"]
    assert len(romania) > 1
    degree = np.diff(graph.out.indptr) + np.diff(graph.into.indptr)
    assert degree.sum() == 2 * 1_637_956


def test_names_that_do_not_show_are_none_and_give_way_to_those_that_do(tmp_path: Path) -> None:
    nodes = {"id": [1, 2, 2, 3], "name": ["\u200b", None, "b", "\x00 "]}
    source = read(tmp_path, nodes, {"src": [1], "relation": ["r"], "dst": [2]})
    assert source.graph.entities["name"].to_pylist() == ["1", "b", "3"]
