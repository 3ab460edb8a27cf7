"""The manifest of a snapshot: what it holds, how much, of which format and with which checksums."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from ytrag_core.errors import NewerFormatError, SnapshotError
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.files import is_safe_name, reading

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "FORMAT_VERSION",
    "MANIFEST_NAME",
    "FileEntry",
    "Manifest",
    "manifest_bytes",
    "parse_manifest",
    "read_manifest",
]

FORMAT_VERSION = 1
MANIFEST_NAME = "manifest.json"


class FileEntry(BaseModel):
    """Size and checksum of one file.

    Attributes
    ----------
    bytes
        Size.
    sha256
        SHA-256 as 64 hex digits.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    bytes: int = Field(ge=0)
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")


class Manifest(BaseModel):
    """Description of a snapshot.

    Attributes
    ----------
    format_version
        Version of the layout on disk.
    ytrag_version
        Version of the package that wrote it.
    snapshot
        Name of the snapshot, for example "000007".
    counts
        Number of documents, chunks, entities and so on.
    files
        Every file by its path relative to the snapshot, with `/`.
    encoder
        Fingerprint, name and dimension of the encoder.
    schema_version
        Version of the graph schema.
    settings
        Settings of the build.
    sources
        Where the content came from.
    """

    model_config = ConfigDict(frozen=True, strict=True)

    format_version: int
    ytrag_version: str
    snapshot: str
    counts: dict[str, int]
    files: dict[str, FileEntry]
    encoder: dict[str, JsonValue]
    schema_version: str
    settings: dict[str, JsonValue]
    sources: list[JsonValue]

    @field_validator("files")
    @classmethod
    def _names_stay_below(cls, files: dict[str, FileEntry]) -> dict[str, FileEntry]:
        for name in files:
            if not is_safe_name(name):
                raise ValueError(f"file name {name!r} leads out of the snapshot")
        return files


def manifest_bytes(manifest: Manifest) -> bytes:
    """Return the manifest as JSON, keys in order."""
    content = manifest.model_dump(mode="json")
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True).encode() + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of the snapshot in `folder`.

    Raises
    ------
    SnapshotError
        If it is missing, not JSON, of a newer format, or says something impossible.
    """
    path = folder / MANIFEST_NAME
    with reading(path):
        raw = path.read_bytes()
    return parse_manifest(raw, path)


def parse_manifest(raw: bytes, path: Path) -> Manifest:
    """Check the content of a manifest.

    Parameters
    ----------
    raw
        The content.
    path
        Where it lies, or would: its folder is the snapshot's.

    Raises
    ------
    SnapshotError
        As for `read_manifest`.
    """
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise SnapshotError(f"{path} is not JSON ({error}): {repair_advice(path)}") from error
    _check_format(path, content)
    try:
        manifest = Manifest.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"])
        raise SnapshotError(
            f"{path} is damaged at {place!r}: {first['msg']}; {repair_advice(path)}"
        ) from error
    if manifest.snapshot != path.parent.name:
        raise SnapshotError(
            f"{path} describes snapshot {manifest.snapshot!r}, but lies in {path.parent.name!r}: "
            f"{repair_advice(path)}"
        )
    return manifest


def _check_format(path: Path, content: Any) -> None:
    version = content.get("format_version") if isinstance(content, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SnapshotError(f"{path} is not the manifest of a knowledge base: format_version is {version!r}")
    if version > FORMAT_VERSION:
        raise NewerFormatError(
            f"{path} is of format {version}, this ytrag reads up to {FORMAT_VERSION}: upgrade ytrag"
        )
