"""Names of nodes survive the disk, whatever they are written in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bases import table_rows
from ytrag_core.errors import SnapshotError
from ytrag_core.retrieval.names import NodeNames, name_arrays, name_spec
from ytrag_core.storage.arrays import map_arrays, write_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.knowledge_base import KnowledgeBase


def chunked(strings: list[str], cut: int) -> pa.ChunkedArray:
    return pa.chunked_array([strings[:cut], strings[cut:]], pa.string())


@given(
    st.lists(st.text(max_size=5), max_size=8),
    st.lists(st.sampled_from(["", "city", "人"]), max_size=8),
    st.data(),
)
def test_names_and_types_are_those_given(names: list[str], types: list[str], data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, 8))
    opened = NodeNames.from_arrays(name_arrays(chunked(names, cut), chunked(types, cut)))
    assert [opened.name(node) for node in range(len(names))] == names
    assert [opened.type_of(entity) for entity in range(len(types))] == types


def test_slices_of_arrays_are_read_from_their_own_start() -> None:
    names = pa.chunked_array([pa.array(["a", "béta", "海", "d"])[1:3]])
    opened = NodeNames.from_arrays(name_arrays(names, chunked(["x"], 1)))
    assert [opened.name(node) for node in range(2)] == ["béta", "海"]


def test_names_are_mapped_from_a_file(tmp_path: Path) -> None:
    write_arrays(tmp_path / "names.arrow", name_arrays(chunked(["York", "海"], 1), chunked(["city"], 0)))
    opened = NodeNames.from_arrays(map_arrays(tmp_path / "names.arrow", name_spec(2, 1)))
    assert (opened.name(0), opened.name(1), opened.type_of(0)) == ("York", "海", "city")
    with pytest.raises(SnapshotError, match="run `ytrag repair"):
        map_arrays(tmp_path / "names.arrow", name_spec(3, 1))


def test_the_view_names_every_node_as_the_tables_do(sample_kb: KnowledgeBase) -> None:
    view = sample_kb.view
    entities, values = (table_rows(sample_kb.path, name) for name in ("entities", "attributes"))
    assert [view.name(node) for node in range(view.n_nodes)] == [
        *(row["name"] for row in entities),
        *(row["value"] for row in values),
    ]
    assert [view.type_of(node) for node in range(view.n_entities)] == [row["type"] for row in entities]
    assert view.type_of(view.n_nodes - 1) == "" or not values
