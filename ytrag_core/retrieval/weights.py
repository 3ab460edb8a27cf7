"""The weights of the fusion: few, signed, readable; shipped with their training report, or a user's own."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ConfigError
from ytrag_core.storage.files import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from ytrag_core.config import RetrievalSettings

__all__ = [
    "FEATURES",
    "SIDE_FEATURES",
    "TUNED_NAME",
    "FusionWeights",
    "fusion_in_force",
    "with_tuned_weights",
]

TUNED_NAME = "fusion.json"
"""The file of a knowledge base that holds the weights tuned to it; builds leave it alone."""

FEATURES = {
    "walk": "ppr",
    "names": "entity",
    "words": "bm25",
    "title": "bm25",
    "question": "dense",
    "residual": "dense",
    "path": "path",
    "bridge": "bridge",
}
"""Feature of a passage -> the route that it belongs to."""

SIDE_FEATURES = {"triple": "triple", "community": "community"}
"""Features that add nothing beside the others, as measured: they only order what a route finds alone."""

_FORMAT = 1
_SHIPPED = "fusion.json"
_SHOWN = ("date", "version", "n", "encoder", "snapshot")


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """What each feature of a passage counts.

    Attributes
    ----------
    weights
        Feature -> weight, finite; one that is missing counts nothing.
    report
        How the weights came about: data, figures, date, version. Read by people.
    """

    weights: Mapping[str, float]
    report: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def shipped(cls) -> FusionWeights:
        """Return the weights that come with ytrag."""
        return _shipped()

    @classmethod
    def read(cls, path: Path) -> FusionWeights:
        """Read weights from a JSON file.

        Raises
        ------
        ConfigError
            The file cannot be read or is not of the form that `to_json` gives.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the weights of the fusion, {path}, cannot be read ({error}): take the file away, or make "
                "it anew with `ytrag tune`"
            ) from error
        return _parsed(text, str(path))

    def write(self, path: Path) -> None:
        """Write the weights so that a crash leaves the old file or the new one.

        Raises
        ------
        WriteError
            The file cannot be written.
        """
        replace_file(path, json.dumps(self.to_json(), indent=2, ensure_ascii=False).encode() + b"\n")

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"format": _FORMAT, "weights": dict(self.weights), "report": dict(self.report)}


@cache
def _shipped() -> FusionWeights:
    text = (resources.files("ytrag_core.retrieval") / _SHIPPED).read_text(encoding="utf-8")
    return _parsed(text, _SHIPPED)


def _parsed(text: str, where: str) -> FusionWeights:
    advice = "take the file away, or make it anew with `ytrag tune`"
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON ({error}): {advice}") from error
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise ConfigError(f"{where} does not hold weights of the fusion in format {_FORMAT}: {advice}")
    weights, report = record.get("weights"), record.get("report", {})
    if not isinstance(weights, dict) or not isinstance(report, dict):
        raise ConfigError(f'{where} wants the objects "weights" and "report": {advice}')
    known = FEATURES | SIDE_FEATURES
    for name, value in weights.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if name not in known or not is_number or not math.isfinite(value):
            raise ConfigError(
                f"{where}: the weight {name!r}: {value!r} arrived; finite numbers for "
                f"{', '.join(known)} were wanted: {advice}"
            )
    return FusionWeights({name: float(value) for name, value in weights.items()}, report)


def with_tuned_weights(root: Path, settings: RetrievalSettings) -> RetrievalSettings:
    """Return settings with the weights tuned to a knowledge base, where it has any and none were given.

    Raises
    ------
    ConfigError
        The tuned weights are damaged.
    """
    tuned = root / TUNED_NAME
    if settings.weights is not None or not tuned.exists():
        return settings
    return settings.model_copy(update={"weights": dict(FusionWeights.read(tuned).weights)})


def fusion_in_force(root: Path, settings: RetrievalSettings) -> dict[str, Any]:
    """Return how a knowledge base fuses its routes: mode, weights, where they come from, and their date."""
    tuned = root / TUNED_NAME
    model = FusionWeights.read(tuned) if tuned.exists() else FusionWeights.shipped()
    weights = model.weights if settings.weights is None else settings.weights
    record: dict[str, Any] = {"mode": settings.fusion, "origin": "given", "weights": dict(weights)}
    if dict(weights) == dict(model.weights):
        record["origin"] = "tuned" if tuned.exists() else "shipped"
        record |= {name: model.report[name] for name in _SHOWN if name in model.report}
    return record
