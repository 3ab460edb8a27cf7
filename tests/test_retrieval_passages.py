"""A passage is as near as the nearest of its windows; old knowledge bases have one window a passage."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from tests.bases import live_folder, write_openie
from tests.tiny_encoder import sha256
from ytrag_core.embedding.index import VectorIndex
from ytrag_core.errors import SnapshotError
from ytrag_core.evaluation.baselines import make_baseline
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.retrieval.passages import PassageIndex
from ytrag_core.storage.arrays import map_arrays, write_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder

D = 16
FILLER = " ".join(f"Shed {n} of the yard holds rope, tar and {n + 3} spare oars." for n in range(60))
CORPUS = [
    {"id": "long", "title": "The yard", "text": f"{FILLER} The fog clock was invented by Ada Quell."},
    {"id": "short", "title": "Bread", "text": "Bread is baked from flour and water."},
    {"id": "middle", "title": "Rope", "text": "Rope is made of hemp and coated with tar."},
]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=12), st.integers(1, 15), st.integers(0, 100))
def test_search_and_scores_agree_with_the_definition(sizes: list[int], k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    vectors = rng.standard_normal((len(owners), D))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    query = vectors[seed % len(vectors)].astype(np.float32)
    passages = PassageIndex(VectorIndex.build(vectors), owners, len(sizes))
    cosines = vectors.astype(np.float32) @ query
    best = np.array([cosines[owners == passage].max() for passage in range(len(sizes))])
    assert_allclose(passages.scores(query), best, atol=1e-5)
    some = rng.permutation(len(sizes))[:3].astype(np.int32)
    assert_allclose(passages.scores(query, some), best[some], atol=1e-5)
    assert passages.scores(query, some[:0]).shape == (0,)
    rows, scores = passages.search(query, k)
    assert rows.dtype == np.int32
    assert len(set(rows.tolist())) == len(rows) == min(k, len(sizes))
    assert_allclose(scores, best[rows], atol=1e-5)
    assert_allclose(scores, np.sort(best)[::-1][: len(rows)], atol=1e-5)


def test_no_passages() -> None:
    passages = PassageIndex(VectorIndex.build(np.empty((0, D), np.float16)), np.empty(0, np.int32), 0)
    rows, scores = passages.search(np.ones(D, np.float32), 3)
    assert (rows.shape, scores.shape) == ((0,), (0,))
    assert passages.scores(np.ones(D, np.float32)).shape == (0,)


@pytest.mark.parametrize("owners", [[0, 0, 2], [0, 2, 1], [0, 1], [0, 1, 3], [0, 1, 2, 2]])
def test_windows_that_do_not_fit_are_refused(owners: list[int]) -> None:
    index = VectorIndex.build(np.ones((3, D), np.float16))
    with pytest.raises(SnapshotError, match="build the knowledge base again"):
        PassageIndex(index, np.array(owners, np.int32), 3)
    with pytest.raises(SnapshotError):
        PassageIndex(index, None, 2)


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    home = tmp_path_factory.mktemp("long")
    records = [{"passage_id": "short", "entities": [], "triples": [["Bread", "baked from", "flour"]]}]
    KnowledgeBase.build(
        home / "kb", [write_openie(home / "in", CORPUS, records)], format="openie", encoder=encoder
    )
    return KnowledgeBase.open(home / "kb", encoder=encoder)


QUESTION = "Who invented the fog clock?"


def test_the_end_of_a_long_passage_is_found(kb: KnowledgeBase) -> None:
    arrays = map_arrays(live_folder(kb.path) / "vectors" / "chunks.arrow")
    owners = arrays["window_chunk"]
    ids = [kb.view.chunks.id(row) for row in range(3)]
    counts = np.bincount(owners, minlength=3)
    assert counts[ids.index("long")] > 3
    assert counts.sum() == len(arrays["vectors"]) == len(arrays["hashes"])
    last = np.flatnonzero(owners == ids.index("long"))[-1]
    text = str(CORPUS[0]["text"])
    assert arrays["window_end"][last] == len(text)
    window = text[arrays["window_start"][last] : arrays["window_end"][last]]
    assert "fog clock" in window
    query = kb.encoder.encode_query(QUESTION)
    scores = kb.view.chunk_index.scores(query)
    titled = kb.encoder.encode([f"The yard\n{window}"])[0]
    assert abs(float(scores[ids.index("long")]) - float(titled @ query)) < 2e-3
    found = kb.retrieve(QUESTION, routes=["dense"])
    assert found.chunks[0].id == "long"
    assert len({chunk.id for chunk in found.chunks}) == len(found.chunks) == 3
    for name in ("dense", "ppr"):
        assert make_baseline(kb, name)(QUESTION, 3)[0] == "long"


def test_a_knowledge_base_without_windows_opens(kb: KnowledgeBase, tmp_path: Path) -> None:
    """As earlier versions wrote it: one row a passage, and nothing else."""
    shutil.copytree(kb.path, tmp_path / "old")
    folder = live_folder(tmp_path / "old")
    path = folder / "vectors" / "chunks.arrow"
    arrays = map_arrays(path)
    first = np.searchsorted(arrays["window_chunk"], np.arange(3))
    rows = {name: np.array(arrays[name][first]) for name in ("vectors", "hashes")}
    path.unlink()
    write_arrays(path, rows)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    manifest["files"]["vectors/chunks.arrow"] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    old = KnowledgeBase.open(tmp_path / "old", encoder=kb.encoder)
    query = kb.encoder.encode_query("How is bread baked?")
    wanted = rows["vectors"].astype(np.float32) @ query
    assert_allclose(old.view.chunk_index.scores(query), wanted, atol=1e-5)
    assert old.retrieve("How is bread baked?").chunks[0].id == "short"
