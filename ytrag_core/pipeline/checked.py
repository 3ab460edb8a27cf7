"""The check of a knowledge base that also reads its passages: is each the text that it was stored as."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.pipeline.extractions import content_hash
from ytrag_core.storage.checking import check_base
from ytrag_core.storage.layout import META_NAME, SNAPSHOTS_NAME
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.verified import drop_stamps

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ytrag_core.storage.checking import BaseState

__all__ = ["check_all", "chunk_hash"]


def check_all(root: Path, progress: Callable[[int, int], None] | None = None) -> BaseState:
    """Look at every file of a knowledge base, and at every passage that it stores.

    Parameters
    ----------
    root
        Its directory.
    progress
        As for `check_base`.

    Raises
    ------
    SnapshotError
        As for `check_base`.
    """
    state = check_base(root, progress)
    _forget(state)
    if not any(file.path == META_NAME and file.state == "sound" for file in state.files):
        return state
    n_changed = _n_changed(root / META_NAME, int(state.live or 0))
    if not n_changed:
        return state
    why = f"the text of {n_changed:,} passages is not what was stored"
    files = (
        replace(file, state="damaged", why=why) if file.path == META_NAME else file for file in state.files
    )
    return replace(state, files=tuple(files))


def chunk_hash(title: str, text: str, start: int) -> str:
    """Return the hash of a passage, by which what was extracted from it is found."""
    return content_hash(title, text, "first" if start == 0 else "later")


def _forget(state: BaseState) -> None:
    """Have files that decayed without a trace refused from now on, where anything can be written there."""
    names: dict[str, set[str]] = {}
    for file in state.wrong:
        if file.part in ("live", "older") and file.path.count("/") > 1:
            _, snapshot, name = file.path.split("/", 2)
            names.setdefault(snapshot, set()).add(name)
    for snapshot, wrong in names.items():
        drop_stamps(state.root / SNAPSHOTS_NAME / snapshot, wrong)


def _n_changed(path: Path, live: int) -> int:
    with MetaStore(path, snapshot=live, writable=False) as meta:
        return sum(row.sha256 != chunk_hash(row.title, row.text, row.start) for row in meta.chunks())
