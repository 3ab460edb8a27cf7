"""The settings of a build: those that the user gives, else those of the knowledge base, else the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ytrag_core.config import BuildSettings, ExtractionSettings
from ytrag_core.errors import ConfigError, SnapshotError
from ytrag_core.storage.layout import META_NAME, read_current
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["extraction_settings_for", "keep_extraction", "lasting_extraction", "settings_for", "settings_of"]

_LASTING = ("max_tokens", "chunk_overlap", "resolve")
"""What a knowledge base is built with until someone says otherwise."""


_BEFORE = {"resolve": "exact"}
"""What was done before there was this setting: no later build joins the names of such a base unasked."""

_LASTING_EXTRACTION = ("style", "unknown_types", "fallback")
"""Likewise, of extraction by a language model: another style or bound would send every passage again."""

_RECORD = "extraction"


def settings_for(root: Path, **given: Any) -> BuildSettings:
    """Return the settings of the next build.

    Parameters
    ----------
    root
        The knowledge base's directory, which need not be there yet.
    given
        Fields of `BuildSettings`; None stands for what is not given.

    Raises
    ------
    ConfigError
        A value is out of its range, or contradicts another.
    SnapshotError
        The knowledge base is damaged.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if read_current(root) is not None:
        before = settings_of(Snapshot.open(root, verify="size"))
        chosen = {name: getattr(before, name) for name in _LASTING} | chosen
    try:
        return BuildSettings.model_validate(chosen)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        what = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{where}: {what}; {first['input']!r} arrived" if where else what) from error


def settings_of(snapshot: Snapshot) -> BuildSettings:
    """Return the settings that a snapshot was built with; those that this version does not know are left.

    Raises
    ------
    SnapshotError
        They are not of this version.
    """
    known = {
        name: value
        for name, value in snapshot.manifest.settings.items()
        if name in BuildSettings.model_fields
    }
    try:
        return BuildSettings.model_validate(_BEFORE | known)
    except ValidationError as error:
        raise SnapshotError(
            f"{snapshot.path}: its settings are not of this version ({error.errors()[0]['msg']}): "
            "give settings, or build again"
        ) from error


def extraction_settings_for(root: Path, **given: Any) -> ExtractionSettings:
    """Return how a language model is to read, in the next build.

    Parameters
    ----------
    root
        The knowledge base's directory, which need not be there yet.
    given
        Fields of `ExtractionSettings`; None stands for what is not given.

    Raises
    ------
    SnapshotError
        The knowledge base is damaged.
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    if not (root / META_NAME).is_file():
        return ExtractionSettings.model_validate(chosen)
    with MetaStore(root / META_NAME, writable=False) as meta:
        return ExtractionSettings.model_validate(lasting_extraction(meta).model_dump() | chosen)


def lasting_extraction(meta: MetaStore) -> ExtractionSettings:
    """Return how a language model has read the knowledge base until now; the defaults where none has."""
    kept = meta.records("settings").get(_RECORD)
    known = (
        {name: kept[name] for name in _LASTING_EXTRACTION if name in kept} if isinstance(kept, dict) else {}
    )
    try:
        return ExtractionSettings.model_validate(known)
    except ValidationError:  # of another version
        return ExtractionSettings()


def keep_extraction(meta: MetaStore, settings: ExtractionSettings) -> None:
    """Remember how a language model reads, for builds that do not say."""
    meta.put_record("settings", _RECORD, {name: getattr(settings, name) for name in _LASTING_EXTRACTION})
