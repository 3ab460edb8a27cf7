"""Display names and types of nodes, mapped instead of being parsed when a knowledge base is opened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ytrag_core.storage.arrays import ArraySpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

__all__ = ["NodeNames", "name_arrays", "name_spec", "utf8_arrays"]


def name_spec(n_nodes: int, n_entities: int) -> dict[str, ArraySpec]:
    """Return the arrays of `names.arrow`: UTF-8 names of all nodes, and a type of each entity."""
    return {
        "name_indptr": ArraySpec(np.dtype(np.int64), 1, length=n_nodes + 1),
        "name_bytes": ArraySpec(np.dtype(np.uint8), 1),
        "entity_type": ArraySpec(np.dtype(np.int32), 1, length=n_entities),
        "type_indptr": ArraySpec(np.dtype(np.int64), 1),
        "type_bytes": ArraySpec(np.dtype(np.uint8), 1),
    }


def name_arrays(names: pa.ChunkedArray, types: pa.ChunkedArray) -> dict[str, NDArray[Any]]:
    """Return the arrays of `name_spec`.

    Parameters
    ----------
    names
        Strings without nulls, one a node, in the order of the nodes.
    types
        Strings without nulls, one an entity.
    """
    kinds = pa.concat_arrays([pa.array([], pa.string()), *types.cast(pa.string()).chunks])
    codes = kinds.dictionary_encode()
    name_indptr, name_bytes = utf8_arrays(names)
    type_indptr, type_bytes = utf8_arrays(pa.chunked_array([codes.dictionary]))
    return {
        "name_indptr": name_indptr,
        "name_bytes": name_bytes,
        "entity_type": codes.indices.to_numpy(zero_copy_only=False).astype(np.int32),
        "type_indptr": type_indptr,
        "type_bytes": type_bytes,
    }


def utf8_arrays(strings: pa.ChunkedArray) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return where each string begins, and all of them side by side."""
    plain = pa.concat_arrays([pa.array([], pa.large_string()), *strings.cast(pa.large_string()).chunks])
    _, offsets, data = plain.buffers()
    indptr = (
        np.frombuffer(offsets, np.int64, len(plain) + 1, plain.offset * 8)
        if len(plain)
        else np.zeros(1, np.int64)
    )
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    return indptr - indptr[0], content[indptr[0] : indptr[-1]]


def text_of(content: NDArray[np.uint8], indptr: NDArray[np.int64], row: int) -> str:
    """Return one of the strings that `utf8_arrays` laid side by side."""
    return content[indptr[row] : indptr[row + 1]].tobytes().decode()


def texts_of(content: NDArray[np.uint8], indptr: NDArray[np.int64], rows: NDArray[np.int32]) -> list[str]:
    """Return some of these strings, faster than one by one."""
    starts, ends = indptr[rows].tolist(), indptr[rows + 1].tolist()
    plain = content.data
    return [str(plain[start:end], "utf-8") for start, end in zip(starts, ends, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class NodeNames:
    """The opened arrays of `name_spec`; a name costs one read of its bytes."""

    name_indptr: NDArray[np.int64]
    name_bytes: NDArray[np.uint8]
    entity_type: NDArray[np.int32]
    type_indptr: NDArray[np.int64]
    type_bytes: NDArray[np.uint8]

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> NodeNames:
        """Open the arrays of `name_spec`."""
        return cls(*(arrays[name] for name in name_spec(0, 0)))

    def name(self, node: int) -> str:
        """Return the name of a node."""
        return text_of(self.name_bytes, self.name_indptr, node)

    def names(self, nodes: NDArray[np.int32]) -> list[str]:
        """Return the names of some nodes."""
        return texts_of(self.name_bytes, self.name_indptr, nodes)

    def type_of(self, entity: int) -> str:
        """Return the type of an entity, empty where none is known."""
        return self.type_name(int(self.entity_type[entity]))

    def type_name(self, code: int) -> str:
        """Return the type that `entity_type` calls by a number."""
        return text_of(self.type_bytes, self.type_indptr, code)
