"""Extractions laid out as columns of codes; their Python objects are let go one by one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.graph.dictionary import DictionaryEncoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ytrag_core.extraction.model import Extraction
    from ytrag_core.graph.dictionary import EncodedColumns

__all__ = ["ExtractionColumns", "Statements"]

_BLOCK_PARTS = 3 << 16
_BLOCK_MENTIONS = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Statements:
    """What all extractions say; chunks are rows of the chunks table.

    Attributes
    ----------
    names
        Surface forms; their columns are mentions, heads and tails.
    relations, labels, aliases
        Relation names, the types of mentions, and stated aliases, of one column each.
    mention_chunk
        (n_mentions,) int32.
    alias_mention
        (n_aliases,) int64, the mention of which each alias was stated.
    triple_chunk
        (n_triples,) int32.
    is_value
        (n_triples,) bool, whether the tail was given as the value of an attribute.
    """

    names: EncodedColumns
    relations: EncodedColumns
    labels: EncodedColumns
    aliases: EncodedColumns
    mention_chunk: NDArray[np.int32]
    alias_mention: NDArray[np.int64]
    triple_chunk: NDArray[np.int32]
    is_value: NDArray[np.bool_]


class ExtractionColumns:
    """Takes extractions one by one and keeps their strings as codes.

    Notes
    -----
    Four bytes for each part of a triple, each mention and its type, 20 for a triple in all; the strings
    themselves once each, and those of a block of 65,536 triples or mentions as Python objects.
    """

    def __init__(self) -> None:
        self._names, self._relations = DictionaryEncoder(3), DictionaryEncoder()
        self._labels, self._aliases = DictionaryEncoder(), DictionaryEncoder()
        self._mentions: list[str] = []
        self._types: list[str] = []
        self._stated: list[str] = []
        self._parts: list[str] = []
        self._spans: list[tuple[int, int, int, int]] = []
        self._alias_mention: list[int] = []
        self._all_spans: list[NDArray[np.int64]] = []
        self._n_mentions = 0

    def add(self, extraction: Extraction, chunk: int) -> None:
        """Add what one chunk says.

        Parameters
        ----------
        extraction
            The extraction.
        chunk
            Row of its chunk.
        """
        entities, triples, attributes = extraction.entities, extraction.triples, extraction.attributes
        self._spans.append((chunk, len(entities), len(triples), len(attributes)))
        self._mentions += [entity.name for entity in entities]
        self._types += [entity.type for entity in entities]
        for row, entity in enumerate(entities, self._n_mentions):
            if entity.aliases:
                self._alias_mention += [row] * len(entity.aliases)
                self._stated += entity.aliases
        self._n_mentions += len(entities)
        self._parts.extend(chain.from_iterable(triples))
        self._parts.extend(chain.from_iterable(attributes))
        if len(self._parts) >= _BLOCK_PARTS or len(self._mentions) >= _BLOCK_MENTIONS:
            self._encode_block()

    def finish(self) -> Statements:
        """Return everything that was added; the object is then spent."""
        self._encode_block()
        chunk, n_mentions, n_triples, n_attributes = np.concatenate(self._all_spans).T
        rows = chunk.astype(np.int32)
        kinds = np.stack([n_triples, n_attributes], axis=1).ravel()
        return Statements(
            self._names.finish(),
            self._relations.finish(),
            self._labels.finish(),
            self._aliases.finish(),
            np.repeat(rows, n_mentions),
            np.array(self._alias_mention, np.int64),
            np.repeat(rows, n_triples + n_attributes),
            np.repeat(np.tile([False, True], len(rows)), kinds),
        )

    def _encode_block(self) -> None:
        for column, strings in enumerate((self._mentions, self._parts[0::3], self._parts[2::3])):
            self._names.add(pa.array(strings, pa.large_string()), column)
        self._relations.add(pa.array(self._parts[1::3], pa.large_string()))
        self._labels.add(pa.array(self._types, pa.large_string()))
        self._aliases.add(pa.array(self._stated, pa.large_string()))
        self._all_spans.append(np.array(self._spans, np.int64).reshape(-1, 4))
        for block in (self._mentions, self._types, self._stated, self._parts, self._spans):
            block.clear()
