"""The strings of a graph, each once, and their vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.testing import assert_array_equal

from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.graph.assemble import assemble_graph
from ytrag_core.pipeline.vectors import TextEncoder, string_table, triple_sentences

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.graph.tables import GraphTables


def graph() -> GraphTables:
    said = Extraction(
        "c",
        entities=(EntityMention("born in"),),
        triples=(("Ada", "born_in", "London"), ("Ada", "knows", "Bob"), ("Bob", "placeOfBirth", "London")),
        attributes=(("Ada", "born", "1815"),),
    )
    return assemble_graph([said], {"c": 0})


def test_every_name_and_relation_text_stands_once_in_the_table() -> None:
    tables = graph()
    table = string_table(tables)
    assert table.texts == ["Ada", "Bob", "born in", "London", "1815", "born", "knows", "place Of Birth"]
    assert [table.texts[row] for row in table.node_string] == tables.node_names().to_pylist()
    assert [table.texts[row] for row in table.relation_string] == [
        "born",
        "born in",
        "knows",
        "place Of Birth",
    ]
    assert table.node_string.dtype == table.relation_string.dtype == np.int32
    indptr, nodes = table.bearers()
    assert [nodes[start:end].tolist() for start, end in pairwise(indptr)] == [
        [0],
        [1],
        [2],
        [3],
        [4],
        [],
        [],
        [],
    ]


def test_nothing_has_no_strings() -> None:
    table = string_table(assemble_graph([], {}))
    assert (table.texts, len(table.node_string), len(table.relation_string)) == ([], 0, 0)


def test_triples_are_sentences_in_the_order_of_their_ids() -> None:
    assert triple_sentences(graph()) == [
        "Ada knows Bob",
        "Ada born in London",
        "Ada born 1815",
        "Bob place Of Birth London",
    ]


def test_a_text_that_repeats_is_encoded_once(encoder: Encoder) -> None:
    texts = ["Ada", "London", "Ada", "Bob", "London"]
    text_encoder = TextEncoder(encoder, None)
    rows = text_encoder.encode(texts)
    once = text_encoder.encode(["Ada", "London", "Bob"])
    assert (text_encoder.n_encoded, text_encoder.n_reused) == (3, 3)
    for name, of_all in rows.arrays().items():
        assert_array_equal(of_all, once.arrays()[name][[0, 1, 0, 2, 1]])
