"""A user's own encoder: a folder described by what it says of itself."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ytrag_core.embedding.cache import (
    MODEL,
    RECORD,
    file_sha256,
    read_json,
)
from ytrag_core.embedding.description import BUILT_IN, EncoderDescription, ModelFile
from ytrag_core.embedding.own_guess import guess_settings
from ytrag_core.embedding.own_settings import SETTINGS, OwnSettings, read_settings
from ytrag_core.embedding.precision import CONVERSIONS, same_vectors
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.precision import Precision

__all__ = ["LICENCES", "TOKENIZER", "built_in_of", "describe_folder"]

TOKENIZER = "tokenizer.json"
LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "NOTICE", "NOTICE.txt")
_ONNX_PLACES = (MODEL, f"onnx/{MODEL}")
_WEIGHTS = "model.safetensors"
_BAKED = ("dimension", "pooling", "normalise", "max_tokens", "n_heads", "layer_norm_eps", "output")
"""Entries that a conversion holds and a later `encoder.toml` cannot change."""


def built_in_of(path: Path) -> EncoderDescription | None:
    """Return the built-in encoder whose published or converted files a folder or a wheel holds, if it does.

    A folder with an `encoder.toml` is always a user's own.
    """
    if path.is_file():
        digest = file_sha256(path)
        return next((d for d in BUILT_IN.values() if d.wheel and d.wheel.sha256 == digest), None)
    if (path / SETTINGS).is_file():
        return None
    for description in BUILT_IN.values():
        wanted = description.weights.sha256
        for folder in (path, *(path / name for each in CONVERSIONS for name in same_vectors(each))):
            record = read_json(folder / RECORD)
            if record.get("weights_sha256") == wanted and "description" not in record:
                return description
        for folder in (path, path / "files", path / description.name / "files"):
            weights = folder / description.weights.name
            if weights.is_file() and file_sha256(weights) == wanted:
                return description
    return None


def describe_folder(folder: Path) -> EncoderDescription:
    """Describe the encoder in a user's own folder.

    Parameters
    ----------
    folder
        Has `tokenizer.json` and either `model.onnx` or a BERT-shaped `model.safetensors`; and an
        `encoder.toml`, where something must be said that the other files beside it do not say. Or it was
        made by `convert_folder`.

    Returns
    -------
    EncoderDescription
        With the checksums of its files and with `folder` set.

    Raises
    ------
    ModelError
        If a file is missing or of the wrong kind, or something cannot be guessed.

    Notes
    -----
    Hashes the files, 0.1 s for 90 MB.
    """
    folder = folder.resolve()
    if not folder.is_dir():
        raise ModelError(
            f"{folder} is not a folder: give one of {', '.join(BUILT_IN)}, or a folder with {TOKENIZER} and "
            f"{MODEL} or {_WEIGHTS}"
        )
    said = read_settings(folder)
    record = read_json(folder / RECORD)
    if isinstance(record.get("description"), dict):
        return _converted(folder, record, said)
    weights = _weights_file(folder, said)
    tokenizer = folder / TOKENIZER
    if not tokenizer.is_file():
        raise ModelError(f"{folder} has no {TOKENIZER}: save the encoder's fast tokeniser there")
    values = guess_settings(folder, weights, said)
    return _description(
        folder,
        values,
        ModelFile(weights.relative_to(folder).as_posix(), _weights_sha256(weights)),
        ModelFile(TOKENIZER, file_sha256(tokenizer)),
    )


def _weights_file(folder: Path, said: OwnSettings) -> Path:
    places = (said.weights,) if said.weights else (MODEL, _WEIGHTS, *_ONNX_PLACES)
    for place in places:
        if (folder / place).is_file():
            return folder / place
    raise ModelError(
        f"{folder} has no {said.weights or f'{MODEL} and no {_WEIGHTS}'}: an encoder needs one of the two, "
        f"and {TOKENIZER}"
    )


def _weights_sha256(weights: Path) -> str:
    """Return the checksum of the weights, and of the file in which ONNX may keep its tensors beside it."""
    beside = [weights.with_name(weights.name + end) for end in ("_data", ".data")]
    digests = [
        file_sha256(path)
        for path in (weights, *(beside if weights.suffix == ".onnx" else ()))
        if path.is_file()
    ]
    return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()


def _description(
    folder: Path,
    values: dict[str, Any],
    weights: ModelFile,
    tokenizer: ModelFile,
    precisions: tuple[Precision, ...] = ("fp32", "int8"),
) -> EncoderDescription:
    is_onnx = weights.name.endswith(".onnx")
    return EncoderDescription(
        name=values["name"],
        repository="",
        wheel=None,
        weights=weights,
        tokenizer=tokenizer,
        licences=LICENCES,
        dimension=values["dimension"],
        max_tokens=values["max_tokens"],
        n_heads=values["n_heads"],
        layer_norm_eps=values["layer_norm_eps"],
        weights_format="onnx" if is_onnx else "safetensors",
        precisions=("fp32",) if is_onnx else precisions,
        pooling=values["pooling"],
        normalise=values["normalise"],
        query_prefix=values["query_prefix"],
        passage_prefix=values["passage_prefix"],
        alias_similarity=values["alias_similarity"],
        centre=values["centre"],
        language=values["language"],
        licence=values["licence"],
        output=values["output"],
        folder=folder,
    )


def _converted(folder: Path, record: dict[str, Any], said: OwnSettings) -> EncoderDescription:
    """Describe what `convert_folder` made; its `encoder.toml` may change what is not in the graph."""
    try:
        values = dict(record["description"])
        weights = ModelFile(values.pop("weights"), record["weights_sha256"])
        precisions: tuple[Precision, ...] = tuple(
            precision for precision in CONVERSIONS if record["conversion"] in same_vectors(precision)
        )
        tokenizer = ModelFile(TOKENIZER, record["tokenizer_sha256"])
        description = _description(folder, values, weights, tokenizer, precisions)
    except (KeyError, TypeError) as error:
        raise ModelError(f"{folder / RECORD} is damaged ({error!r}): convert the encoder again") from error
    changes = {
        name: value
        for name, value in said.model_dump(exclude_none=True).items()
        if name != "weights" and value != values[name]
    }
    baked = [name for name in _BAKED if name in changes]
    if baked:
        raise ModelError(
            f"{folder} was converted with {baked[0]} = {values[baked[0]]!r}, and its {SETTINGS} says "
            f"{changes[baked[0]]!r}: change it where the encoder came from, and convert it again"
        )
    return replace(description, **changes)
