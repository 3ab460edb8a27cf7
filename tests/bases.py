"""Small knowledge bases for tests: folders to import, and snapshots read back as plain files."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from ytrag_core.graph.tables import Csr, Provenance

Row = dict[str, Any]
Triple = tuple[str, str, str]

TABLES = (
    "documents",
    "chunks",
    "entities",
    "attributes",
    "relations",
    "triples",
    "communities",
    "mentions",
)


def write_lines(path: Path, rows: Sequence[object]) -> Path:
    """Write JSON Lines; strings are written as they are."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def write_openie(folder: Path, corpus: Sequence[object], records: Sequence[object]) -> Path:
    write_lines(folder / "corpus.jsonl", corpus)
    write_lines(folder / "openie.jsonl", records)
    return folder


def write_facts(folder: Path, facts: Sequence[Triple]) -> Path:
    """Write one passage for each triple, called `p0, p1, ...`, which states it in words."""
    corpus = [
        {"id": f"p{i}", "title": head, "text": f"{head} {relation} {tail}."}
        for i, (head, relation, tail) in enumerate(facts)
    ]
    records = [
        {"passage_id": f"p{i}", "entities": [], "triples": [list(fact)]} for i, fact in enumerate(facts)
    ]
    return write_openie(folder, corpus, records)


def write_edges(folder: Path, nodes: pa.Table, edges: pa.Table) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(nodes, folder / "nodes.parquet")
    pq.write_table(edges, folder / "edges.parquet")
    return folder


def live_folder(root: Path) -> Path:
    return root / "snapshots" / (root / "CURRENT").read_text(encoding="utf-8").strip()


def table_bytes(root: Path) -> dict[str, bytes]:
    return {name: (live_folder(root) / f"{name}.parquet").read_bytes() for name in TABLES}


def table_rows(root: Path, name: str) -> list[Row]:
    rows: list[Row] = pq.read_table(live_folder(root) / f"{name}.parquet").to_pylist()
    return rows


def provenance_rows(provenance: Provenance) -> list[list[int]]:
    bounds = provenance.indptr.tolist()
    chunks = provenance.chunks.tolist()
    assert bounds[0] == 0
    assert bounds[-1] == len(chunks)
    return [chunks[start:end] for start, end in pairwise(bounds)]


def csr_edges(csr: Csr) -> list[tuple[int, int, int, int]]:
    """(row, neighbour, relation, triple) of every entry, row by row."""
    bounds = csr.indptr.tolist()
    return [
        (row, int(csr.indices[at]), int(csr.relation[at]), int(csr.triple[at]))
        for row, (start, end) in enumerate(pairwise(bounds))
        for at in range(start, end)
    ]
