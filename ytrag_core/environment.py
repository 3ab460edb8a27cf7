"""What the environment says: where the encoder lies, and which language models to ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.embedding.choice import WantedPrecision
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.llm.stages import Stage, StageModels
    from ytrag_core.pipeline.report import Progress

__all__ = [
    "encoder_place",
    "language_models",
    "load_encoder",
    "open_base",
    "prompts_folder",
]


def encoder_place() -> Path | None:
    """Return the folder or wheel that YTRAG_ENCODER_PATH names; None where it names none."""
    path = os.environ.get("YTRAG_ENCODER_PATH")
    return Path(path) if path else None


def load_encoder(
    progress: Progress,
    wanted: str | None = None,
    precision: WantedPrecision = "auto",
    kb: Path | None = None,
) -> Encoder:
    """Return the encoder that is meant, looking into YTRAG_ENCODER_PATH first.

    Parameters
    ----------
    progress
        Told of its fetching and conversion.
    wanted
        A name or a folder; by default that of `kb`, then the one in YTRAG_ENCODER_PATH, then the
        built-in one.
    precision
        `auto`, `fp32` or `int8`.
    kb
        A knowledge base that may be there already.
    """
    from ytrag_core.embedding.choice import load_encoder as load

    return load(
        wanted,
        precision,
        kb=kb,
        place=encoder_place(),
        progress=lambda done, total: progress("prepare encoder", done, total),
    )


def open_base(kb: Path) -> KnowledgeBase:
    """Open a knowledge base with the encoder that made its vectors."""
    from ytrag_core.console import progress_bars
    from ytrag_core.embedding.choice import recorded_encoder
    from ytrag_core.knowledge_base import KnowledgeBase

    recorded_encoder(kb)
    with progress_bars() as progress:
        return KnowledgeBase.open(kb, encoder=load_encoder(progress, kb=kb))


def language_models() -> StageModels | None:
    """Return the models that the environment names; None where it names none.

    Raises
    ------
    ConfigError
        When half of what is needed is missing, or a value is not of its form.
    """
    base_url, model = _said("BASE_URL"), _said("MODEL")
    if not base_url and not model:
        return None
    if not base_url or not model:
        missing = "YTRAG_LLM_MODEL" if base_url else "YTRAG_LLM_BASE_URL"
        raise ConfigError(
            f"a language model needs {missing} too; set it, or unset the other for evidence alone"
        )
    from pydantic import ValidationError

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.limits import RateLimits
    from ytrag_core.llm.stages import STAGES, StageModels

    fields: dict[str, Any] = {"base_url": base_url, "model": model, "api_key": _said("API_KEY")}
    timeout, retries = _positive("TIMEOUT"), _said("RETRIES")
    if timeout is not None:
        fields["timeout"] = timeout
    if retries:
        if not retries.isdecimal() or len(retries) > 4:
            raise ConfigError(f"YTRAG_LLM_RETRIES must be a number such as 5, {retries[:40]!r} arrived")
        fields["max_retries"] = int(retries)
    limits = RateLimits(_positive("REQUESTS_PER_MINUTE"), _positive("TOKENS_PER_MINUTE"))
    names: dict[Stage, str] = {stage: name for stage in STAGES if (name := _said(f"MODEL_{stage.upper()}"))}
    try:
        settings = LLMSettings.model_validate(fields)
    except ValidationError:
        raise ConfigError(
            "YTRAG_LLM_BASE_URL must start with http:// or https:// and a host, "
            "for example http://localhost:11434/v1"
        ) from None
    return StageModels.of_endpoint(settings, names, limits=limits, prompts=prompts_folder())


def prompts_folder() -> Path | None:
    """Return the folder of the user's own prompts that YTRAG_PROMPTS names; None where it names none.

    Raises
    ------
    ConfigError
        When it is no folder, or a prompt in it cannot be used.
    """
    from ytrag_core.llm.prompts import check_prompts

    path = os.environ.get("YTRAG_PROMPTS", "").strip()
    if not path:
        return None
    check_prompts(Path(path))
    return Path(path)


def _said(name: str) -> str:
    return os.environ.get(f"YTRAG_LLM_{name}", "").strip()


def _positive(name: str) -> float | None:
    """Return the number that a variable holds; None where it is not set."""
    value = _said(name)
    if not value:
        return None
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if not 0.0 < number < 1e9:
        raise ConfigError(f"YTRAG_LLM_{name} must be a number above 0, {value[:40]!r} arrived")
    return number
