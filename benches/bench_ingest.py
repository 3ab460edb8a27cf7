"""Strings to a resolved graph beside plain dictionaries and networkx; counts agree before anything is timed.

Three triples a node, names drawn evenly and by a power law, one form in twenty in capitals or in quotes.
Every peer resolves names by the same key, and keeps edges of both directions.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import networkx as nx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from race import Race

from ytrag_core.extraction.model import Extraction
from ytrag_core.extraction.recorded import read_openie
from ytrag_core.graph.assemble import assemble_graph
from ytrag_core.graph.edges import read_edges
from ytrag_core.graph.normalise import entity_key, relation_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_benchmark.fixture import BenchmarkFixture

    from ytrag_core.graph.tables import GraphTables

Triple = tuple[str, str, str]
Adjacency = dict[int, dict[tuple[int, int], None]]

TRIPLES_A_CHUNK = 10
NETWORKX_LIMIT = 100_000
N_RELATIONS = 300
COLOURS = ("Amber", "Azur", "Crimson", "Élan", "Gilded", "Hollow", "Ivory", "Jade", "Łódź", "红")
SYLLABLES = ("ka", "ro", "min", "tes", "lu", "va", "shi", "dor", "pel", "an", "qui", "zeb", "tho", "华", "é")


class Strings(NamedTuple):
    """Names of nodes and relations, and three triples a node of positions among them."""

    names: list[str]
    relations: list[str]
    ends: list[tuple[int, int, int]]

    def triples(self) -> list[Triple]:
        """Triples of surface forms; one in twenty is in capitals or in quotes."""
        forms = [form(name, i) for i, name in enumerate(self.names)]
        return [
            (
                forms[head] if i % 20 else self.names[head].upper(),
                self.relations[relation],
                forms[tail] if i % 20 != 10 else f"“{self.names[tail]}”",
            )
            for i, (head, relation, tail) in enumerate(self.ends)
        ]


def form(name: str, i: int) -> str:
    return name if i % 50 else f"{name}."


@lru_cache(maxsize=1)
def strings(n_nodes: int) -> Strings:
    rng = np.random.default_rng(11)
    n_triples = 3 * n_nodes
    parts = rng.integers(0, len(SYLLABLES), (n_nodes, 7)).tolist()
    colours = rng.integers(0, len(COLOURS), n_nodes).tolist()
    names = [
        f"{COLOURS[colour]} {''.join(SYLLABLES[part] for part in row).capitalize()}"
        for colour, row in zip(colours, parts, strict=True)
    ]
    relations = [f"relation_{i} of" if i % 3 else f"Relation {i} of" for i in range(N_RELATIONS)]
    even = rng.integers(0, n_nodes, (n_triples, 2))
    skewed = (n_nodes * rng.random((n_triples, 2)) ** 4).astype(np.int64)
    ends = np.where(rng.random((n_triples, 2)) < 0.3, skewed, even)
    ends[:n_nodes, 0] = np.arange(n_nodes)
    relation = rng.integers(0, N_RELATIONS, n_triples)
    columns = (column.tolist() for column in (ends[:, 0], relation, ends[:, 1]))
    return Strings(names, relations, list(zip(*columns, strict=True)))


def extractions(triples: list[Triple]) -> list[Extraction]:
    return [
        Extraction(f"p{start}", triples=tuple(triples[start : start + TRIPLES_A_CHUNK]))
        for start in range(0, len(triples), TRIPLES_A_CHUNK)
    ]


def counted(graph: GraphTables) -> tuple[int, int]:
    return graph.n_nodes, graph.n_triples


def by_dictionaries(triples: Iterable[Triple]) -> tuple[int, int]:
    """A loop that anyone would write: a dictionary of keys, and one of neighbours for each direction."""
    keys: dict[str, str] = {}
    ids: dict[str, int] = {}
    relation_ids: dict[str, int] = {}
    out: Adjacency = {}
    into: Adjacency = {}
    for triple in triples:
        head, tail = (node_id(name, keys, ids) for name in (triple[0], triple[2]))
        if triple[1] not in keys:
            keys[triple[1]] = relation_key(triple[1])
        relation = relation_ids.setdefault(keys[triple[1]], len(relation_ids))
        out.setdefault(head, {})[tail, relation] = None
        into.setdefault(tail, {})[head, relation] = None
    n_edges = sum(map(len, out.values()))
    assert n_edges == sum(map(len, into.values()))
    return len(ids), n_edges


def node_id(name: str, keys: dict[str, str], ids: dict[str, int]) -> int:
    if name not in keys:
        keys[name] = entity_key(name)
    return ids.setdefault(keys[name], len(ids))


def by_networkx(triples: Iterable[Triple]) -> tuple[int, int]:
    graph = nx.MultiDiGraph()
    keys: dict[str, str] = {}
    for head, relation, tail in triples:
        for text, key_of in ((head, entity_key), (relation, relation_key), (tail, entity_key)):
            if text not in keys:
                keys[text] = key_of(text)
        graph.add_edge(keys[head], keys[tail], key=keys[relation])
    return graph.number_of_nodes(), graph.number_of_edges()


@lru_cache(maxsize=1)
def triple_race(n_nodes: int) -> Race:
    triples = strings(n_nodes).triples()
    chunks = extractions(triples)
    rows = {chunk.chunk_id: row for row, chunk in enumerate(chunks)}
    race = Race("string triples to tables and both CSR", n_nodes)
    race.enter("ytrag", lambda: counted(assemble_graph(chunks, rows)))
    race.enter("dictionaries", lambda: by_dictionaries(triples))
    race.enter("networkx", lambda: by_networkx(triples), up_to=NETWORKX_LIMIT)
    assert len(set(race.results.values())) == 1
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "dictionaries", "networkx"])
def test_string_triples(benchmark: BenchmarkFixture, n_nodes: int, peer: str) -> None:
    triple_race(n_nodes).time(benchmark, peer, triples=3 * n_nodes)


def write_edges(folder: Path, given: Strings, prefix: str) -> Path:
    folder.mkdir()

    def ids(column: Iterable[int]) -> pa.Array:
        return pa.array([f"{prefix}{row}" for row in column] if prefix else list(column))

    heads, relations, tails = zip(*given.ends, strict=True)
    nodes = pa.table({"id": ids(range(len(given.names))), "name": given.names})
    names = [given.relations[relation] for relation in relations]
    edges = pa.table({"src": ids(heads), "relation": names, "dst": ids(tails)})
    pq.write_table(nodes, folder / "nodes.parquet")
    pq.write_table(edges, folder / "edges.parquet")
    return folder


def edges_by_dictionaries(folder: Path) -> tuple[int, int]:
    """The same loop over the rows of both files; an id is a node."""
    nodes, edges = (pq.read_table(folder / f"{name}.parquet").to_pydict() for name in ("nodes", "edges"))
    ids = {given: row for row, given in enumerate(nodes["id"])}
    names = {name: entity_key(name) for name in nodes["name"]}
    keys = {relation: relation_key(relation) for relation in edges["relation"]}
    out: Adjacency = {}
    into: Adjacency = {}
    relation_ids = {key: row for row, key in enumerate(dict.fromkeys(keys.values()))}
    for src, relation, dst in zip(edges["src"], edges["relation"], edges["dst"], strict=True):
        row, head, tail = relation_ids[keys[relation]], ids[src], ids[dst]
        out.setdefault(head, {})[tail, row] = None
        into.setdefault(tail, {})[head, row] = None
    assert len(names) <= len(ids)
    return len(ids), sum(map(len, out.values()))


@lru_cache(maxsize=1)
def edge_race(n_nodes: int, folder: Path) -> Race:
    given = strings(n_nodes)
    by_number = write_edges(folder / f"numbers{n_nodes}", given, "")
    by_string = write_edges(folder / f"strings{n_nodes}", given, "Q")
    race = Race("nodes and edges in Parquet to tables and both CSR", n_nodes)
    race.enter("ytrag", lambda: counted(read_edges(by_number).graph))
    race.enter("ytrag, ids as strings", lambda: counted(read_edges(by_string).graph))
    race.enter("dictionaries", lambda: edges_by_dictionaries(by_number))
    assert len(set(race.results.values())) == 1
    return race.start()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ingest")


@pytest.mark.parametrize("peer", ["ytrag", "ytrag, ids as strings", "dictionaries"])
def test_edges(benchmark: BenchmarkFixture, folder: Path, n_nodes: int, peer: str) -> None:
    edge_race(n_nodes, folder).time(benchmark, peer, triples=3 * n_nodes)


def write_openie(folder: Path, triples: list[Triple]) -> Path:
    folder.mkdir()
    with (
        (folder / "corpus.jsonl").open("w", encoding="utf-8") as corpus,
        (folder / "openie.jsonl").open("w", encoding="utf-8") as openie,
    ):
        for chunk in extractions(triples):
            passage = {"id": chunk.chunk_id, "title": "", "text": " ".join(chunk.triples[0])}
            said = {"passage_id": chunk.chunk_id, "entities": [], "triples": chunk.triples}
            for file, record in ((corpus, passage), (openie, said)):
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return folder


def openie_to_graph(folder: Path) -> tuple[int, int]:
    source = read_openie(folder)
    rows = {document.id: row for row, document in enumerate(source.documents)}
    return counted(assemble_graph(source.extractions.values(), rows))


def openie_by_dictionaries(folder: Path) -> tuple[int, int]:
    with (folder / "openie.jsonl").open(encoding="utf-8") as openie:
        return by_dictionaries((a, b, c) for line in openie for a, b, c in json.loads(line)["triples"])


@lru_cache(maxsize=1)
def openie_race(n_nodes: int, folder: Path) -> Race:
    source = write_openie(folder / f"openie{n_nodes}", strings(n_nodes).triples())
    race = Race("passages and triples in JSON Lines to tables and both CSR", n_nodes)
    race.enter("ytrag", lambda: openie_to_graph(source))
    race.enter("dictionaries", lambda: openie_by_dictionaries(source))
    assert len(set(race.results.values())) == 1
    return race.start()


@pytest.mark.parametrize("peer", ["ytrag", "dictionaries"])
def test_openie(benchmark: BenchmarkFixture, folder: Path, n_nodes: int, peer: str) -> None:
    openie_race(n_nodes, folder).time(benchmark, peer, triples=3 * n_nodes)
