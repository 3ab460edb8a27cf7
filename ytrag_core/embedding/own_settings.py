"""What a user says of their own encoder in `encoder.toml`, and that file's text."""

from __future__ import annotations

import json
import tomllib
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ytrag_core.embedding.description import Pooling  # noqa: TC001 - pydantic reads it
from ytrag_core.errors import EncoderSettingsError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["SETTINGS", "OwnSettings", "read_settings", "settings_text"]

SETTINGS = "encoder.toml"


class OwnSettings(BaseModel):
    """The entries of `encoder.toml`; what is left out is guessed from the files beside it.

    Attributes
    ----------
    name : str
        Letters, digits, dots, underscores and hyphens.
    weights : str
        `model.onnx` or `model.safetensors`, where the folder has both.
    output : str
        Of an ONNX model, the output to use.
    dimension : int
        Width of a vector.
    pooling : {"mean", "cls", "none"}
        How token vectors become one; `none` where the model does it itself.
    normalise : bool
        False says that the model's vectors have length 1 already.
    query_prefix, passage_prefix : str
        Put before a question, and before everything that is stored.
    max_tokens : int
        Longest input, special tokens included.
    n_heads : int
        Attention heads of a layer, for safetensors.
    layer_norm_eps : float
        For safetensors.
    alias_similarity : float
        Cosine from which two names may be the same thing.
    centre : str
        What all vectors share and is taken away, as `models convert` measures it; empty for nothing.
    language : str
        An ISO 639-1 code, `multilingual` or `und`.
    licence : str
        SPDX name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")] | None = None
    weights: Annotated[str, StringConstraints(pattern=r"^[^/\\]+\.(onnx|safetensors)$")] | None = None
    output: str | None = None
    dimension: int | None = Field(default=None, ge=1, le=16_384)
    pooling: Pooling | None = None
    normalise: bool | None = None
    query_prefix: str | None = None
    passage_prefix: str | None = None
    max_tokens: int | None = Field(default=None, ge=8, le=65_536)
    n_heads: int | None = Field(default=None, ge=1)
    layer_norm_eps: float | None = Field(default=None, gt=0.0, lt=1.0)
    alias_similarity: float | None = Field(default=None, ge=0.0, le=1.0)
    centre: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]*=*$")] | None = None
    language: Annotated[str, StringConstraints(pattern=r"^([a-z]{2,3}|multilingual)$")] | None = None
    licence: str | None = None


def read_settings(folder: Path) -> OwnSettings:
    """Read a folder's `encoder.toml`; without one nothing is said.

    Raises
    ------
    EncoderSettingsError
        If it is not TOML, or an entry is unknown or of another kind.
    """
    path = folder / SETTINGS
    if not path.is_file():
        return OwnSettings()
    try:
        return OwnSettings.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise EncoderSettingsError(f"{path} is not TOML ({error}): write `name = value` lines") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        entry = ".".join(str(step) for step in first["loc"])
        known = ", ".join(OwnSettings.model_fields)
        told = (
            f"is unknown; known are {known}"
            if first["type"] == "extra_forbidden"
            else f"is {first['input']!r}: {first['msg']}"
        )
        raise EncoderSettingsError(f"{path}: the entry {entry!r} {told}") from error


def settings_text(description: EncoderDescription) -> str:
    """Return the whole `encoder.toml` of a description, to be saved and changed."""
    entries: list[tuple[str, str | int | float | bool, str]] = [
        ("name", description.name, ""),
        ("dimension", description.dimension, "width of a vector"),
        ("pooling", description.pooling, "mean, cls, or none where the model does it itself"),
        ("normalise", description.normalise, "false: the model's vectors have length 1 already"),
        ("query_prefix", description.query_prefix, "before a question"),
        ("passage_prefix", description.passage_prefix, "before everything that is stored"),
        ("max_tokens", description.max_tokens, "longest input, special tokens included"),
    ]
    if description.weights_format == "safetensors":
        entries += [
            ("n_heads", description.n_heads, "attention heads of a layer"),
            ("layer_norm_eps", description.layer_norm_eps, ""),
        ]
    if description.centre:
        entries.append(("centre", description.centre, ""))
    if description.output:
        entries.append(("output", description.output, "the output of model.onnx that is used"))
    entries += [
        ("alias_similarity", description.alias_similarity, "cosine from which two names may be one thing"),
        ("language", description.language, "ISO 639-1, multilingual, or und: not known"),
        ("licence", description.licence, "SPDX name"),
    ]
    shown = [(f"{name} = {_toml(value)}", comment) for name, value, comment in entries]
    width = max(len(line) for line, comment in shown if comment) + 2
    return "".join(f"{line:<{width}}# {comment}\n" if comment else f"{line}\n" for line, comment in shown)


def _toml(value: str | float) -> str:
    """Return a value as TOML has it; its strings escape as JSON's do."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value)
