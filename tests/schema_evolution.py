"""What tests of schema evolution share: proposals, a knowledge base's store, and processes that propose."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.schema.history import SchemaHistory
from ytrag_core.schema.load import load_schema
from ytrag_core.schema.proposals import TypeProposal, record
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.schema.model import TypeKind


def proposal(
    name: str,
    chunk: int | str,
    *,
    kind: TypeKind = "entity",
    document: str | None = None,
    confidence: float = 0.9,
    description: str = "",
    evidence: str = "",
) -> TypeProposal:
    return TypeProposal(
        kind=kind,
        name=name,
        description=description,
        confidence=confidence,
        chunk_id=f"c{chunk}",
        document_id=document or f"d{chunk}",
        evidence=evidence or f"{name} in {chunk}",
    )


def supported(
    name: str, *, n: int = 3, kind: TypeKind = "entity", description: str = ""
) -> list[TypeProposal]:
    """Return proposals that pass the default thresholds: of `n` passages of as many documents."""
    return [proposal(name, f"{kind}{name}{i}", kind=kind, description=description) for i in range(n)]


def many(n_types: int = 1000) -> list[TypeProposal]:
    """Return proposals of many types of all kinds: spellings, confidences and descriptions disagree."""
    kinds: tuple[TypeKind, ...] = ("entity", "relation", "attribute")
    return [
        proposal(
            [f"type {i}", f"Type {i}", f"type_{i}"][chunk % 3],
            f"{i}-{chunk}",
            kind=kinds[i % 3],
            document=f"d{chunk}",
            confidence=0.6 + 0.05 * ((i + chunk) % 8),
            description=f"What {['is', 'was'][chunk % 2]} meant by {i}.",
        )
        for i in range(n_types)
        for chunk in range(2 + i % 4)
    ]


def propose(root: str, proposals: Sequence[TypeProposal]) -> int:
    """Record proposals one small batch after the other; what a process of the tests runs."""
    from pathlib import Path

    with SchemaStore.open(Path(root)) as store:
        return sum(record(store, proposals[start : start + 100]) for start in range(0, len(proposals), 100))


def new_store(root: Path) -> SchemaStore:
    """Return the store of a knowledge base of which nothing was built yet."""
    root.mkdir(parents=True, exist_ok=True)
    MetaStore(root / "meta.sqlite").close()
    return SchemaStore.open(root)


def seeded(store: SchemaStore, seed: str = "general") -> SchemaHistory:
    history = SchemaHistory(store)
    history.set_seed(load_schema(seed), who="tester", why="a start")
    return history


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return for each text a vector that depends on it alone; two texts are about orthogonal."""
    rows = []
    for text in texts:
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "little")
        vector = np.random.default_rng(seed).standard_normal(256)
        rows.append(vector / np.linalg.norm(vector))
    return np.array(rows, np.float32)
