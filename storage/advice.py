"""What to do about a damaged file: the command that repairs the knowledge base which the file is part of."""

from __future__ import annotations

import re
from pathlib import Path

__all__ = ["base_of", "repair_advice"]

_FOLDERS = {
    "snapshots": re.compile(r"[0-9]{6,12}|\.[0-9]{6,12}\.partial"),
    "vectors": re.compile(r"[0-9a-f]{16}"),
}
_FILES = frozenset({"CURRENT", "meta.sqlite"})


def base_of(path: Path) -> Path | None:
    """Return the directory of the knowledge base that a file or folder is part of, None where of none."""
    if path.name in _FILES:
        return path.parent
    for inner, outer in zip((path, *path.parents), path.parents, strict=False):
        pattern = _FOLDERS.get(outer.name)
        if pattern is not None and pattern.fullmatch(inner.name):
            return outer.parent
    return None


def repair_advice(path: Path | str) -> str:
    """Return the end of a message about something that is damaged or missing: how to get on.

    Parameters
    ----------
    path
        What is damaged: a knowledge base, or a file or folder in one.
    """
    path = Path(path)
    root = base_of(path)
    if root is None and any((path / name).exists() for name in _FILES):
        root = path
    return f"run `ytrag repair --kb {root or 'DIR'}`, or restore it from a copy"
