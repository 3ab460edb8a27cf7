"""Entity resolution in stages: one key, what a person said, what the text states, what is written alike."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.graph.homonyms import told_apart
from ytrag_core.graph.links import Link, join_units, pair_of
from ytrag_core.graph.named import label_of
from ytrag_core.graph.similar import similar_links
from ytrag_core.graph.stated import stated_links

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from ytrag_core.graph.links import Pair
    from ytrag_core.graph.named import Named

__all__ = ["Resolution", "Resolver", "Stages"]

Stages = Literal["exact", "aliases", "similar"]


@dataclass(frozen=True, slots=True, eq=False)
class Resolution:
    """Which units are one thing.

    Attributes
    ----------
    named
        The units; homonyms are told apart.
    groups
        (n_units,) int32, the unit by which each unit's group goes.
    links
        What joined them.
    """

    named: Named
    groups: NDArray[np.int32]
    links: list[Link]


@dataclass(frozen=True, slots=True, eq=False)
class Resolver:
    """How far names are resolved.

    Attributes
    ----------
    stages
        `exact`: names of one key are one thing. `aliases`: so are names of which the text states it, and
        homonyms of types that exclude each other are told apart. `similar`: so are variants of one name.
    together, apart
        Pairs of labels (`ytrag_core.graph.named.label_of`) that a person decided; what is not there has no
        effect.
    encode
        Returns the (n, d) float16 unit-norm vectors of names, which are evidence for `similar`, or None to do
        without.
    similarity
        Cosine from which vectors speak for a pair.
    document
        (n_chunks,) document of each chunk, by which homonyms are told apart.
    """

    stages: Stages = "exact"
    together: Sequence[tuple[str, str]] = ()
    apart: Sequence[tuple[str, str]] = ()
    encode: Callable[[list[str]], NDArray[np.float16] | None] | None = None
    similarity: float = 0.8
    document: NDArray[np.int32] | None = None

    def resolve(self, named: Named) -> Resolution:
        """Return which units are one thing.

        Parameters
        ----------
        named
            Units that are keys.
        """
        if self.stages != "exact":
            named = told_apart(named, self.document)
        find = _Finder(named) if self.together or self.apart else None
        links: list[Link] = []
        apart: set[Pair] = set()
        if find is not None:
            apart = set(find.pairs(self.apart))
            links += [Link(*pair, "rule", 1.0, "decided by a person") for pair in find.pairs(self.together)]
        if self.stages != "exact":
            links += stated_links(named)
        if self.stages == "similar":
            links += similar_links(named, self.encode, self.similarity)
        if not links:
            return Resolution(named, np.arange(named.n_units, dtype=np.int32), [])
        groups, joined = join_units(named.n_units, links, apart, named.may_join, named.weight)
        return Resolution(named, groups, joined)


class _Finder:
    """Finds units by their labels."""

    def __init__(self, named: Named) -> None:
        self._keys = named.nodes.keys
        self._senses = {
            label_of(key, sense): unit
            for (unit, sense), key in zip(
                named.senses.items(), named.keys(np.array([*named.senses], np.int64)), strict=True
            )
        }

    def pairs(self, labels: Sequence[tuple[str, str]]) -> Iterator[Pair]:
        flat = [label for pair in labels for label in pair]
        keys = pa.array([label.partition("\t")[0] for label in flat], pa.large_string())
        rows = pc.index_in(keys, value_set=self._keys).to_pylist()
        units = [self._senses.get(label, row) for label, row in zip(flat, rows, strict=True)]
        for first, second in zip(units[0::2], units[1::2], strict=True):
            if first is not None and second is not None and first != second:
                yield pair_of(first, second)
