"""The user's cache of encoders: which files it holds, where each came from, and whether they are whole."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path

from ytrag_core.embedding.description import BUILT_IN
from ytrag_core.embedding.precision import CONVERSIONS, same_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.precision import Precision

__all__ = [
    "FILES",
    "MODEL",
    "OWN",
    "RECORD",
    "CachedFile",
    "ModelFolder",
    "cached_files",
    "default_cache",
    "file_sha256",
    "read_json",
    "read_sources",
    "ready_folder",
    "write_record",
    "write_sources",
]

MODEL = "model.onnx"
RECORD = "encoder.json"
FILES = "files"
"""Folder of an encoder's published files, beside its conversions."""

OWN = "own"
"""Folder in the cache for the conversions of users' own encoders."""

_SOURCES = "sources.json"
_UNKNOWN = "an earlier run"


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A converted encoder on disk.

    Attributes
    ----------
    model
        The ONNX file.
    tokenizer
        The tokeniser's JSON file.
    """

    model: Path
    tokenizer: Path


@dataclass(frozen=True, slots=True)
class CachedFile:
    """One file of an encoder in the cache.

    Attributes
    ----------
    encoder
        Name of the encoder.
    part
        `files` for a published file, else the conversion it belongs to, such as `fp32-2`.
    path
        Where it lies.
    bytes
        Its size; -1 where it is missing.
    sha256
        What its checksum must be; empty where its record cannot be read.
    source
        Where it came from.
    """

    encoder: str
    part: str
    path: Path
    bytes: int
    sha256: str
    source: str

    def problem(self) -> str | None:
        """Hash the file; return what is wrong with it and what to do, or None."""
        again = f"remove {self.path.parent} and run: ytrag models fetch {self.encoder}"
        if self.bytes < 0:
            return f"{self.path} is missing: {again}"
        if not self.sha256:
            return f"{self.path} cannot be read, so nothing beside it can be checked: {again}"
        found = file_sha256(self.path)
        if found == self.sha256:
            return None
        return f"{self.path} has the sha256 {found}, wanted {self.sha256}: it was changed or damaged; {again}"


def default_cache() -> Path:
    """Return the folder for models in the user's cache directory."""
    return user_cache_path("ytrag") / "models"


def file_sha256(path: Path) -> str:
    """Return the checksum of a file, 64 hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file, an empty one where there is none."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def read_sources(files: Path) -> dict[str, str]:
    """Return where each published file in a folder came from."""
    return {name: str(source) for name, source in read_json(files / _SOURCES).items()}


def write_sources(files: Path, sources: dict[str, str]) -> None:
    """Note where published files came from."""
    draft = files / f".{_SOURCES}"
    draft.write_text(json.dumps(sources, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    draft.replace(files / _SOURCES)


def write_record(
    folder: Path,
    description: EncoderDescription,
    precision: Precision,
    sources: Mapping[str, str],
    more: Mapping[str, Any] | None = None,
) -> None:
    """Describe a conversion beside its files, with the checksum of each.

    Parameters
    ----------
    folder
        The conversion; all its other files are there.
    description, precision
        What it is.
    sources
        File name -> where it came from.
    more
        Further entries.
    """
    made = {file.name: file for file in sorted(folder.iterdir()) if file.name != RECORD}
    checksums = {name: file_sha256(file) for name, file in made.items()}
    record = {
        "name": description.name,
        "conversion": CONVERSIONS[precision],
        "origin": "; ".join(dict.fromkeys(sources.values())),
        "weights_sha256": description.weights.sha256,
        "tokenizer_sha256": description.tokenizer.sha256,
        "bytes": {name: file.stat().st_size for name, file in made.items()},
        "sources": dict(sources),
        "sha256": checksums,
        **({"model_sha256": checksums[MODEL]} if MODEL in checksums else {}),
        **(more or {}),
    }
    text = json.dumps(record, ensure_ascii=False, indent=2, sort_keys=True)
    (folder / RECORD).write_text(text + "\n", encoding="utf-8")


def ready_folder(
    folder: Path, description: EncoderDescription, precision: Precision, identity: str = ""
) -> ModelFolder | None:
    """Return the converted encoder in a folder, or None where it is absent, damaged or another one.

    An earlier conversion that makes the same vectors is as good, if slower.

    Sizes are compared and not checksums, which `ytrag models verify` does: a start has no time for them.
    """
    model, tokenizer = folder / MODEL, folder / "tokenizer.json"
    record = read_json(folder / RECORD)
    try:
        fits = (
            record["conversion"] in same_vectors(precision)
            and record["weights_sha256"] == description.weights.sha256
            and record["tokenizer_sha256"] == description.tokenizer.sha256
            and record.get("identity", "") == identity
            and all(record["bytes"][file.name] == file.stat().st_size for file in (model, tokenizer))
        )
    except (OSError, KeyError, TypeError):
        return None
    return ModelFolder(model, tokenizer) if fits else None


def cached_files(cache: Path, name: str | None = None) -> Iterator[CachedFile]:
    """Yield the files that the cache holds.

    Parameters
    ----------
    cache
        The cache's folder; it may be absent.
    name
        Only those of this encoder.
    """
    for description in BUILT_IN.values():
        if name in (None, description.name):
            yield from _published(cache / description.name / FILES, description)
            yield from _conversions(cache / description.name, description)
    if (cache / OWN).is_dir():
        for home in sorted((cache / OWN).iterdir()):
            for file in _conversions(home, None):
                if name in (None, file.encoder):
                    yield file


def _published(files: Path, description: EncoderDescription) -> Iterator[CachedFile]:
    sources = read_sources(files)
    for file in description.files:
        path = files / file.name
        if path.is_file():
            size = path.stat().st_size
            source = sources.get(file.name, _UNKNOWN)
            yield CachedFile(description.name, FILES, path, size, file.sha256, source)


def _conversions(home: Path, description: EncoderDescription | None) -> Iterator[CachedFile]:
    for folder in sorted(home.iterdir()) if home.is_dir() else ():
        if folder.is_dir() and folder.name != FILES and not folder.name.startswith("."):
            yield from _conversion(folder, description)


def _conversion(folder: Path, description: EncoderDescription | None) -> Iterator[CachedFile]:
    record = read_json(folder / RECORD)
    encoder = description.name if description else str(record.get("name", folder.parent.name))
    sizes, checksums, sources = (
        value if isinstance(value := record.get(key), dict) else {} for key in ("bytes", "sha256", "sources")
    )
    if record.get("as_it_is") is True:
        return
    if not sizes:
        path = folder / RECORD
        yield CachedFile(encoder, folder.name, path, _size(path), "", _UNKNOWN)
        return
    known = {MODEL: record.get("model_sha256"), "tokenizer.json": record.get("tokenizer_sha256"), **checksums}
    if description is not None:
        known["tokenizer.json"] = description.tokenizer.sha256
    for name in sorted(sizes):
        wanted = known.get(name)
        if isinstance(wanted, str):
            source = str(sources.get(name) or _made_here(name, record))
            path = folder / name
            yield CachedFile(encoder, folder.name, path, _size(path), wanted, source)


def _made_here(name: str, record: dict[str, Any]) -> str:
    """Say where a file comes from that is none of the published ones."""
    if name == MODEL or (name == "tokenizer.json" and "sources" in record):
        return "converted from the files"
    return "written by ytrag" if "sources" in record else str(record.get("origin", _UNKNOWN))


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1
