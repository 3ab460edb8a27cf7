"""What a repair did, what it could not do, and where the damaged files went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.pipeline.report import BuildReport

__all__ = ["RepairReport", "Repaired"]


@dataclass(frozen=True, slots=True)
class Repaired:
    """One file that is whole again, or that nothing needs any more, and how that came to be."""

    path: str
    how: str


@dataclass(slots=True)
class RepairReport:
    """What a repair did.

    Attributes
    ----------
    path
        The knowledge base's directory.
    snapshot
        Name of the live snapshot now.
    in_place
        Whether the live snapshot is what it was, to the byte.
    files
        What was repaired.
    aside, aside_paths, aside_bytes
        Folder to which damaged files were moved, what is there, and its size; empty where nothing was moved.
    lost
        What cannot be had back, in words.
    notes
        What its user should know.
    build
        Of the build that was needed, if one was.
    """

    path: Path
    snapshot: str = ""
    in_place: bool = True
    files: list[Repaired] = field(default_factory=list)
    aside: str = ""
    aside_paths: list[str] = field(default_factory=list)
    aside_bytes: int = 0
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    build: BuildReport | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `repair`."""
        build = {} if self.build is None else self.build.to_json()
        return {
            "path": str(self.path),
            "ok": not self.lost,
            "snapshot": self.snapshot,
            "in_place": self.in_place,
            "files": [{"path": file.path, "how": file.how} for file in self.files],
            "aside": {"folder": self.aside, "paths": self.aside_paths, "bytes": self.aside_bytes},
            "lost": self.lost,
            "notes": [*self.notes, *build.get("notes", [])],
            "encoded_strings": build.get("encoded_strings", 0),
            "reused_strings": build.get("reused_strings", 0),
            "stages": build.get("stages", []),
        }
