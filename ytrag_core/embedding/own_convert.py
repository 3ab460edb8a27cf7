"""A user's own encoder made ready to load: converted or wrapped into the cache, or into a folder to carry."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ytrag_core.embedding.cache import MODEL, OWN, RECORD, ModelFolder, read_json, ready_folder, write_record
from ytrag_core.embedding.fetch import keeping, silent
from ytrag_core.embedding.own_model import LICENCES, TOKENIZER, describe_folder
from ytrag_core.embedding.own_settings import SETTINGS, settings_text
from ytrag_core.embedding.precision import CONVERSIONS
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.precision import Precision

__all__ = ["convert_folder", "prepare_own"]

_WEIGHTS = "model.safetensors"


def _identity(description: EncoderDescription) -> str:
    """Return what a conversion depends on beside the files."""
    said = (description.pooling, str(description.max_tokens), str(description.dimension))
    return "|".join((*description.own_identity, *said))


def prepare_own(
    description: EncoderDescription,
    precision: Precision,
    cache: Path,
    progress: Callable[[int, int], None] = silent,
) -> ModelFolder:
    """Make a user's own encoder ready: converted or wrapped once, and then taken from the cache.

    Raises
    ------
    ModelError
        If it cannot be converted, does not do what its description says, or the cache cannot be written.
    """
    folder = _folder(description)
    _check_precision(description, precision)
    identity = _identity(description)
    if "description" in read_json(folder / RECORD):
        ready = ready_folder(folder, description, precision, identity)
        if ready is None:
            raise ModelError(
                f"{folder} holds {read_json(folder / RECORD).get('conversion')} of {description.name}, "
                f"{precision} was wanted, or a file in it was changed: convert the encoder again"
            )
        return ready
    digest = _key(description, identity)
    target = cache / OWN / f"{description.name}-{digest}" / CONVERSIONS[precision]
    ready = _ready(target, description, precision, identity)
    if ready is not None:
        return ready
    with keeping(description.name, target.parent):
        ready = _ready(target, description, precision, identity)
        if ready is not None:
            return ready
        for leftover in target.parent.glob(".partial-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        progress(0, 2)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=target.parent) as scratch:
            staging = Path(scratch) / "staging"
            staging.mkdir()
            _make(description, precision, staging, identity, may_link=True)
            progress(1, 2)
            if target.exists():
                target.rename(Path(scratch) / "replaced")
            staging.rename(target)
        progress(2, 2)
    ready = _ready(target, description, precision, identity)
    if ready is None:
        raise ModelError(f"the converted encoder in {target} is incomplete: remove that folder and try again")
    return ready


def _key(description: EncoderDescription, identity: str) -> str:
    """Return a short name for the files of an encoder and how they are used."""
    parts = (description.weights.sha256, description.tokenizer.sha256, identity)
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:12]


def _ready(
    target: Path, description: EncoderDescription, precision: Precision, identity: str
) -> ModelFolder | None:
    """Return the conversion in the cache, or the folder's own files where the cache says that they fit."""
    record = read_json(target / RECORD)
    if record.get("as_it_is") is True and record.get("identity") == identity:
        folder = _folder(description)
        return ModelFolder(folder / description.weights.name, folder / description.tokenizer.name)
    return ready_folder(target, description, precision, identity)


def convert_folder(folder: Path, out: Path, precision: Precision = "fp32") -> EncoderDescription:
    """Convert a user's own encoder to a folder that is ready to load, on this machine or another.

    Parameters
    ----------
    folder
        As for `describe_folder`; a built-in encoder's published files are converted as such.
    out
        The folder to make; it must not exist, or be empty.
    precision
        Which conversion.

    Returns
    -------
    EncoderDescription
        Of the new folder.

    Raises
    ------
    ModelError
        If the folder does not hold an encoder, or `out` cannot be made.
    """
    description = describe_folder(folder)
    _check_precision(description, precision)
    if "description" in read_json(_folder(description) / RECORD):
        raise ModelError(f"{folder} is converted already: use it as it is")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ModelError(f"{out} is there and not an empty folder: give another name")
    identity = _identity(description)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
            staging = Path(scratch) / "staging"
            staging.mkdir()
            _make(description, precision, staging, identity, may_link=False)
            if out.exists():
                out.rmdir()
            staging.rename(out)
    except OSError as error:
        raise ModelError(f"{out} cannot be written: {error}") from error
    return describe_folder(out)


def _make(
    description: EncoderDescription, precision: Precision, staging: Path, identity: str, *, may_link: bool
) -> None:
    """Write a conversion; one that equals the folder's own file is only noted where that may be linked to."""
    from ytrag_core.embedding.own_probe import probe

    folder = _folder(description)
    source = str(folder)
    made = _graph(description, precision)
    if made is None and may_link:
        probe(folder / description.weights.name, folder / TOKENIZER, description)
        more = {"identity": identity, "as_it_is": True, "origin": source}
        write_record(staging, description, precision, {}, more)
        return
    if made is None:
        shutil.copyfile(folder / description.weights.name, staging / MODEL)
    else:
        (staging / MODEL).write_bytes(made)
    shutil.copyfile(folder / TOKENIZER, staging / TOKENIZER)
    sources = {description.weights.name: source, TOKENIZER: source}
    for name in LICENCES:
        if (folder / name).is_file():
            shutil.copyfile(folder / name, staging / name)
            sources[name] = source
    probe(staging / MODEL, staging / TOKENIZER, description)
    if not may_link:
        (staging / SETTINGS).write_text(settings_text(description), encoding="utf-8")
    more = {"identity": identity, **({} if may_link else {"description": _plain(description)})}
    write_record(staging, description, precision, sources, more)


def _plain(description: EncoderDescription) -> dict[str, Any]:
    left_out = {"repository", "wheel", "tokenizer", "licences", "weights_format", "precisions", "folder"}
    kept = {name: value for name, value in asdict(description).items() if name not in left_out}
    return {**kept, "weights": description.weights.name}


def _graph(description: EncoderDescription, precision: Precision) -> bytes | None:
    """Return the ONNX of an encoder; None where its own file is called as ours are."""
    folder = _folder(description)
    path = folder / description.weights.name
    if description.weights_format == "safetensors":
        from ytrag_core.embedding.convert import convert_to_onnx, read_safetensors

        return convert_to_onnx(read_safetensors(path), description, precision)
    from ytrag_core.embedding.own_onnx import inspect_onnx, wrap_onnx

    shape = inspect_onnx(path, description.output or None)
    if shape.fits and not description.normalise:
        return None
    return wrap_onnx(path, shape, description.pooling, normalise=description.normalise)


def _check_precision(description: EncoderDescription, precision: Precision) -> None:
    if precision == "int8" and description.weights_format == "onnx":
        raise ModelError(
            f"{description.name} is {description.weights.name}, which is used as it is: choose --precision "
            f"fp32, or give a folder with {_WEIGHTS}, which int8 is made from"
        )


def _folder(description: EncoderDescription) -> Path:
    if description.folder is None:
        raise ModelError(f"{description.name} is a built-in encoder and has no folder of its own")
    return description.folder
