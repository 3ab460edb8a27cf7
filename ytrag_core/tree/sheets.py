"""What is told of a community to whoever is to name it: members with their types, and facts among them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.llm.language import question_language

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.llm.language import Language
    from ytrag_core.tree.model import KnowledgeTree

__all__ = ["Sheet", "SheetWriter", "order_of_importance"]

_N_MEMBERS = 10
_N_FACTS = 6
_EDGES_A_MEMBER = 4
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Sheet:
    """The text about one community.

    Attributes
    ----------
    community
        Its id.
    text
        A few lines.
    language
        Of most of it.
    """

    community: int
    text: str
    language: Language

    def key(self, instruction: str) -> str:
        """Return the hash of the text and of what is asked about it."""
        return hashlib.sha256(f"{instruction}\0{self.text}".encode()).hexdigest()


def order_of_importance(tree: KnowledgeTree) -> NDArray[np.int64]:
    """Return (n_communities,) ids: the upper levels first, on each level the largest, then the lower id."""
    return np.lexsort((np.arange(tree.n_communities), -tree.size, tree.level))


class SheetWriter:
    """Writes about communities.

    Parameters
    ----------
    tree
        The communities.
    graph
        What they are made of.
    """

    def __init__(self, tree: KnowledgeTree, graph: GraphTables) -> None:
        self._tree = tree
        self._graph = graph
        self._names = graph.node_names()
        self._types = graph.entities["type"]
        self._relations: list[str] = graph.relations["name"].to_pylist()

    def sheet(self, community: int) -> Sheet:
        """Return the text about a community."""
        tree = self._tree
        members = tree.members[tree.members_indptr[community] : tree.members_indptr[community + 1]]
        keywords = tree.keywords[tree.keywords_indptr[community] : tree.keywords_indptr[community + 1]]
        shown = list(dict.fromkeys([*keywords.tolist(), *members[:_N_MEMBERS].tolist()]))[:_N_MEMBERS]
        named = "; ".join(f"{self._name(member)}{self._kind(member)}" for member in shown)
        facts = "\n".join(f"- {fact}" for fact in self._facts(shown, members))
        text = f"{len(members)}: {named}\n{facts}".rstrip()
        return Sheet(community, text, question_language(text))

    def _name(self, node: int) -> str:
        return " ".join(str(self._names[node].as_py()).split())[:_LONGEST_NAME]

    def _kind(self, entity: int) -> str:
        kind = self._types[entity].as_py()
        return f" ({kind})" if kind else ""

    def _facts(self, shown: list[int], members: NDArray[np.int32]) -> Iterator[str]:
        """Yield triples that start at the members shown: those that stay inside first, the rest after."""
        out, n_entities = self._graph.out, self._graph.n_entities
        inside: list[str] = []
        outside: list[str] = []
        for head in shown:
            start = int(out.indptr[head])
            stop = min(int(out.indptr[head + 1]), start + _EDGES_A_MEMBER)
            for edge in range(start, stop):
                tail = int(out.indices[edge])
                at = int(np.searchsorted(members, tail))
                stays = tail >= n_entities or (at < len(members) and int(members[at]) == tail)
                relation = self._relations[int(out.relation[edge])]
                (inside if stays else outside).append(f"{self._name(head)} {relation} {self._name(tail)}")
        yield from (*inside, *outside)[:_N_FACTS]
