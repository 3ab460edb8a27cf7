"""How close a proposed type is to the types there are: the same, too close to tell, or another.

Cosines of names tell one entity type's names from another's: with all-MiniLM-L6-v2, company and corporation
have 0.85, film and movie 0.84, while court and judge have 0.73, disease and drug 0.48. They do not tell the
two directions of a relation apart (acquired, acquired by: 0.90; child of, parent of: 0.79), so no relation is
ever taken for another by its vector alone: a wrong one would turn facts round.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ytrag_core.schema.model import type_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from ytrag_core.schema.model import GraphSchema, TypeKind

__all__ = ["Encode", "Likeness", "Neighbours", "relation_core"]

Encode: TypeAlias = "Callable[[Sequence[str]], NDArray[np.float32]]"
"""Texts to unit-norm float32 rows."""
_Mark: TypeAlias = tuple[int, bool]

_BAND = 0.12
_SAME_MEANING = 0.1
_AGREES = 0.3
_CHINESE = re.compile(r"[\u3400-\u9fff\uf900-\ufaff]")
_AUXILIARIES = frozenset(
    {
        "is",
        "are",
        "was",
        "were",
        "be",
        "been",
        "being",
        "has",
        "have",
        "had",
        "a",
        "an",
        "the",
        "did",
        "does",
        "do",
    }
)
_CHINESE_AUXILIARIES = re.compile(r"^(?:是|曾|曾经|已|已经)+(?=.)|(?<=.)(?:了|着|过)$")
_OPPOSED = (
    ("birth", "death"), ("born", "died"), ("start", "end"), ("begin", "end"), ("origin", "end"),
    ("opening", "closing"), ("first", "last"), ("min", "max"), ("minimum", "maximum"), ("lower", "upper"),
    ("founded", "dissolved"), ("arrival", "departure"), ("buyer", "seller"), ("asset", "liability"),
    ("income", "expense"), ("cause", "effect"), ("input", "output"), ("male", "female"),
    ("出生", "去世"), ("出生", "逝世"), ("出生", "死亡"), ("生", "卒"), ("开始", "结束"), ("起始", "终止"),
    ("最小", "最大"), ("最低", "最高"), ("上限", "下限"), ("买方", "卖方"), ("原告", "被告"),
    ("甲方", "乙方"), ("资产", "负债"), ("收入", "支出"), ("成立", "解散"), ("原因", "结果"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Likeness:
    """What a proposed type is to the schema.

    Attributes
    ----------
    verdict : {"same", "close", "other", "unread"}
        `same`: another name of `nearest`; `close`: too close to it to be told without a person; `other`: a
        type of its own; `unread`: the encoder does not know the language, so nobody can tell by it.
    nearest
        Name of the nearest type; empty where there is none.
    similarity
        Cosine of the two names, to four decimals.
    by_meaning
        True where the descriptions are close and not the names.
    """

    verdict: Literal["same", "close", "other", "unread"]
    nearest: str = ""
    similarity: float = 0.0
    by_meaning: bool = False


class Neighbours:
    """The types of one kind as vectors, to which types may be added.

    Parameters
    ----------
    kind
        `entity`, `relation` or `attribute`.
    schema
        The types that there are.
    encode
        Encodes names and descriptions.
    threshold
        Cosine from which two names may be one type; see `EncoderDescription.alias_similarity`.
    language
        What the encoder is good at; with `en` no Chinese name is judged.
    """

    def __init__(
        self, kind: TypeKind, schema: GraphSchema, encode: Encode, threshold: float, language: str
    ) -> None:
        self._kind = kind
        self._encode = encode
        self._threshold = threshold
        self._is_english_only = language == "en"
        self._known: dict[str, NDArray[np.float32]] = {}
        self._spellings: dict[str, str] = {}
        self._owners: list[str] = []
        self._names: list[str] = []
        self._marks: list[frozenset[_Mark]] = []
        self._vectors = _Rows()
        self._meanings = _Rows()
        parts = schema.types(kind)
        self.prepare([(name, part.description) for part in parts for name in (part.name, *part.aliases)])
        for part in parts:
            for name in (part.name, *part.aliases):
                self.add(part.name, name, part.description)

    def prepare(self, types: Sequence[tuple[str, str]]) -> None:
        """Encode names and descriptions that will be asked for, all at once."""
        wanted = {self._label(name) for name, _ in types} | {text for _, text in types if text}
        missing = sorted(wanted - self._known.keys())
        if missing:
            self._known.update(zip(missing, self._encode(missing), strict=True))

    def add(self, owner: str, name: str, description: str) -> None:
        """Add a name of a type: its own, or an alias."""
        self.prepare([(name, description)])
        vector = self._known[self._label(name)]
        self._spellings.setdefault(self._spelling(name), owner)
        self._owners.append(owner)
        self._names.append(name)
        self._marks.append(_marks(name))
        self._vectors.append(vector)
        self._meanings.append(self._known[description] if description else np.zeros_like(vector))

    def judge(self, name: str, description: str) -> Likeness:
        """Return what a proposed type is to those that are there."""
        owner = self._spellings.get(self._spelling(name))
        if owner is not None:
            return Likeness("same", owner, 1.0)
        if self._is_english_only and _CHINESE.search(name):
            return Likeness("unread")
        if not self._names:
            return Likeness("other")
        self.prepare([(name, description)])
        cosines = self._vectors.cosines(self._known[self._label(name)])
        meant = self._meanings.cosines(self._known[description]) if description else np.zeros_like(cosines)
        opposite = frozenset((pair, not side) for pair, side in _marks(name))
        if opposite:
            apart = [not opposite.isdisjoint(marks) for marks in self._marks]
            cosines[apart] = meant[apart] = -1.0
        best = int(np.argmax(cosines))
        similarity = float(cosines[best])
        if similarity < 0.0:
            return Likeness("other")
        if self._kind != "relation" and similarity >= self._threshold:
            # A description of all zeros is none: it says nothing against.
            agrees = meant[best] == 0.0 or meant[best] >= self._threshold - _AGREES
            if agrees and not _shares_modifier(name, self._names[best]):
                return Likeness("same", self._owners[best], similarity)
        if similarity >= self._threshold - _BAND:
            return Likeness("close", self._owners[best], similarity)
        # Descriptions of relations all say what the head does to the tail: they tell nothing apart.
        alike = int(np.argmax(meant))
        if self._kind != "relation" and meant[alike] >= self._threshold + _SAME_MEANING:
            return Likeness("close", self._owners[alike], float(cosines[alike]), by_meaning=True)
        return Likeness("other", self._owners[best], similarity)

    def _label(self, name: str) -> str:
        return relation_core(name) if self._kind == "relation" else type_key(name)

    def _spelling(self, name: str) -> str:
        return relation_core(name) if self._kind == "relation" else _compact(name)


class _Rows:
    """Unit-norm vectors, one after the other in one array that grows."""

    def __init__(self) -> None:
        self._rows = np.empty((0, 0), np.float32)
        self._n_rows = 0

    def append(self, vector: NDArray[np.float32]) -> None:
        if self._n_rows == len(self._rows):
            grown = np.zeros((max(64, 2 * self._n_rows), len(vector)), np.float32)
            if self._n_rows:
                grown[: self._n_rows] = self._rows
            self._rows = grown
        self._rows[self._n_rows] = vector
        self._n_rows += 1

    def cosines(self, vector: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the cosine of every row with a vector, to four decimals: rounding decides nothing."""
        cosines: NDArray[np.float64] = (self._rows[: self._n_rows] @ vector).astype(np.float64)
        return cosines.round(4)


def relation_core(name: str) -> str:
    """Return a relation's name without auxiliaries and articles: `was a member of` becomes `member of`.

    Parameters
    ----------
    name
        As stated; the key as it is where nothing else would be left.
    """
    key = type_key(name)
    if _CHINESE.search(key):
        return _CHINESE_AUXILIARIES.sub("", key) or key
    return " ".join(word for word in key.split() if word not in _AUXILIARIES) or key


def _compact(name: str) -> str:
    """Return a name without spaces and hyphens, American spelling and a plain plural made one."""
    joined = re.sub(r"[\s\-‐‑]+", "", type_key(name)).replace("isation", "ization")
    return joined[:-1] if len(joined) > 4 and joined.endswith("s") and not joined.endswith("ss") else joined


def _marks(name: str) -> frozenset[_Mark]:
    """Return which words of `_OPPOSED` a name has: the pair, and whether it is its first."""
    key = type_key(name)
    words = frozenset(key.split())
    return frozenset(
        (pair, side == 0)
        for pair, both in enumerate(_OPPOSED)
        for side, word in enumerate(both)
        if (word in words if word.isascii() else word in key)
    )


def _shares_modifier(name: str, other: str) -> bool:
    """Tell whether two Chinese compounds begin alike and end in different heads, as 法院 and 法官 do."""
    one, two = type_key(name), type_key(other)
    return bool(_CHINESE.search(one)) and one[:1] == two[:1] and one[-1:] != two[-1:]
