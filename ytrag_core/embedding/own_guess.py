"""What the files of a user's encoder say of it, for all that `encoder.toml` leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ytrag_core.embedding.cache import read_json
from ytrag_core.embedding.centre import decode_centre
from ytrag_core.embedding.description import BUILT_IN
from ytrag_core.errors import EncoderSettingsError, ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.own_settings import OwnSettings

__all__ = ["guess_settings"]

_DEFAULTS: dict[str, Any] = {
    "normalise": True,
    "query_prefix": "",
    "passage_prefix": "",
    "layer_norm_eps": 1e-12,
    "alias_similarity": 0.8,
    "centre": "",
    "language": "und",
    "licence": "",
    "output": "",
}
_BERT = {"bert", ""}
_WORDS = "embeddings.word_embeddings.weight"
_POSITIONS = "embeddings.position_embeddings.weight"
_QUERY_PROMPTS, _PASSAGE_PROMPTS = ("query",), ("passage", "document", "corpus")
_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_TOKENS = 65_536
"""A tokeniser that says more than this means that it sets no limit."""

_FEWEST_TOKENS = 8


def guess_settings(folder: Path, weights: Path, said: OwnSettings) -> dict[str, Any]:
    """Return every entry of an encoder's description.

    Parameters
    ----------
    folder
        The encoder's folder.
    weights
        Its `model.onnx` or `model.safetensors`.
    said
        What the user said; it is believed.

    Returns
    -------
    dict
        A value for each entry of `OwnSettings` but `weights`.

    Raises
    ------
    EncoderSettingsError
        If something that must be known is nowhere said, or the model is not one that can be converted.
    """
    config = read_json(folder / "config.json")
    told = said.model_dump(exclude_none=True)
    guessed = _DEFAULTS | _config_values(config) | _prompts(folder)
    if weights.suffix == ".onnx":
        guessed |= _onnx_values(weights, said)
        if "pooling" not in guessed:
            guessed["pooling"] = _pooling(folder)
        guessed["n_heads"] = guessed.get("n_heads", 1)
    else:
        _refuse_other_shapes(folder, config)
        guessed |= _tensor_values(weights)
        guessed["pooling"] = _pooling(folder)
    limits = [guessed.pop("positions", None), *_token_limits(folder, config)]
    known = [limit for limit in limits if isinstance(limit, int) and limit <= _MOST_TOKENS]
    if not known and said.max_tokens is None:
        known = _cut_by_tokenizer(folder)
    if known:
        guessed["max_tokens"] = max(min(known), _FEWEST_TOKENS)
    values = {"name": _name(folder, config)} | guessed | told
    for entry in ("dimension", "max_tokens", "n_heads"):
        if entry not in values:
            raise EncoderSettingsError(
                f"{folder} does not say {entry} of its encoder: write `{entry} = ...` into an encoder.toml"
            )
    if guessed.get("dimension", values["dimension"]) != values["dimension"]:
        raise EncoderSettingsError(
            f"{folder} makes vectors {guessed['dimension']} wide, its encoder.toml says "
            f"{values['dimension']}: correct dimension there"
        )
    _check(folder, values, weights)
    return values


def _check(folder: Path, values: dict[str, Any], weights: Path) -> None:
    if values["name"] in BUILT_IN:
        raise EncoderSettingsError(
            f"{folder}: the name {values['name']!r} is that of a built-in encoder; give another"
        )
    try:
        decode_centre(values.get("centre", ""), values["dimension"])
    except ModelError as error:
        raise EncoderSettingsError(
            f"{folder}/encoder.toml: {error}; take the line that `ytrag models convert` shows, "
            "or leave it out"
        ) from error
    if weights.suffix == ".onnx":
        return
    if values["pooling"] == "none":
        raise EncoderSettingsError(
            f'{folder}: {weights.name} has token vectors; set pooling = "mean" or "cls"'
        )
    if not values["normalise"]:
        raise EncoderSettingsError(
            f"{folder}: vectors of {weights.name} are always normalised; leave normalise out"
        )
    if values["dimension"] % values["n_heads"]:
        raise EncoderSettingsError(
            f"{folder}: {values['dimension']} dimensions do not divide by n_heads = {values['n_heads']}"
        )


def _name(folder: Path, config: dict[str, Any]) -> str:
    name = str(config.get("_name_or_path") or "").rstrip("/").rpartition("/")[2] or folder.name
    name = _NAME.sub("-", name).strip("-._")[:90] or "encoder"
    return f"own-{name}" if name in BUILT_IN else name


def _config_values(config: dict[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for entry, key, kind in (
        ("dimension", "hidden_size", int),
        ("n_heads", "num_attention_heads", int),
        ("layer_norm_eps", "layer_norm_eps", float),
    ):
        value = config.get(key)
        if isinstance(value, kind) and value > 0:
            values[entry] = value
    return values


def _prompts(folder: Path) -> dict[str, str]:
    """Return the prefixes that sentence-transformers would put before texts."""
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts")
    if not isinstance(prompts, dict):
        return {}
    found = {}
    for entry, names in (("query_prefix", _QUERY_PROMPTS), ("passage_prefix", _PASSAGE_PROMPTS)):
        for name in names:
            if isinstance(prompts.get(name), str):
                found[entry] = prompts[name]
                break
    return found


def _pooling(folder: Path) -> str:
    pooling = read_json(folder / "1_Pooling" / "config.json")
    modes = [name for name, value in pooling.items() if name.startswith("pooling_mode_") and value is True]
    known = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if not modes:
        return "mean"
    if len(modes) == 1 and modes[0] in known:
        return known[modes[0]]
    raise EncoderSettingsError(
        f"{folder / '1_Pooling' / 'config.json'} asks for {', '.join(sorted(modes))}; mean and cls are "
        "known: export the encoder whole, with its pooling, as model.onnx"
    )


def _token_limits(folder: Path, config: dict[str, Any]) -> list[Any]:
    """Return what the files say of the longest input, from the most telling on."""
    told = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if isinstance(told, int) and not isinstance(told, bool):
        return [told, config.get("max_position_embeddings")]
    return [
        read_json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    ]


def _cut_by_tokenizer(folder: Path) -> list[int]:
    """Return where the tokeniser itself cuts, which is often far below what the encoder reads."""
    cut = read_json(folder / "tokenizer.json").get("truncation")
    length = cut.get("max_length") if isinstance(cut, dict) else None
    return [length] if isinstance(length, int) else []


def _refuse_other_shapes(folder: Path, config: dict[str, Any]) -> None:
    """Refuse what would be converted without complaint, to something else than the published model."""
    kind = str(config.get("model_type", ""))
    act = str(config.get("hidden_act", "gelu"))
    places = str(config.get("position_embedding_type", "absolute"))
    export = "export the encoder as model.onnx"
    if kind not in _BERT:
        raise EncoderSettingsError(
            f"{folder} is of the type {kind!r}; only BERT's shape is converted: {export}"
        )
    if act != "gelu" or places != "absolute":
        raise EncoderSettingsError(
            f"{folder} has {act} and {places} positions; wanted gelu and absolute ones: {export}"
        )
    modules = folder / "modules.json"
    if modules.is_file():
        text = modules.read_text(encoding="utf-8", errors="replace")
        others = sorted(set(re.findall(r"models\.(\w+)", text)) - {"Transformer", "Pooling", "Normalize"})
        if others:
            raise EncoderSettingsError(
                f"{modules} adds {', '.join(others)}, which is not converted: {export}, whole"
            )


def _tensor_values(weights: Path) -> dict[str, Any]:
    from ytrag_core.embedding.convert import read_safetensors

    shapes = {name: tensor.shape for name, tensor in read_safetensors(weights).items()}
    words = [shape for name, shape in shapes.items() if name.endswith(_WORDS)]
    positions = [shape for name, shape in shapes.items() if name.endswith(_POSITIONS)]
    if len(words) != 1 or len(positions) != 1:
        raise EncoderSettingsError(
            f"{weights} is not BERT-shaped: no single tensor is called ...{_WORDS}, and one ...{_POSITIONS}; "
            "export the encoder as model.onnx"
        )
    return {"dimension": int(words[0][1]), "positions": int(positions[0][0])}


def _onnx_values(weights: Path, said: OwnSettings) -> dict[str, Any]:
    from ytrag_core.embedding.own_onnx import inspect_onnx

    shape = inspect_onnx(weights, said.output)
    values: dict[str, Any] = {"dimension": shape.dimension} if shape.dimension else {}
    if shape.pooled:
        values["pooling"] = "none"
    elif said.pooling == "none":
        raise EncoderSettingsError(
            f"{weights}: the output {shape.output!r} has one vector a token; set pooling to mean or cls"
        )
    if shape.pooled and said.pooling not in (None, "none"):
        raise EncoderSettingsError(
            f"{weights}: the output {shape.output!r} has one vector a text already; set pooling to none, or "
            "name an output of token vectors, as output = ..."
        )
    return values
