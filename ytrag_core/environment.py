"""What the environment says: where the encoder lies, and which language model to ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.embedding.choice import WantedPrecision
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.pipeline.report import Progress

__all__ = ["encoder_place", "language_model", "load_encoder", "open_base"]


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


def language_model() -> LanguageModel | None:
    """Return the model that the environment names; None where it names none."""
    base_url = os.environ.get("YTRAG_LLM_BASE_URL", "").strip()
    model = os.environ.get("YTRAG_LLM_MODEL", "").strip()
    if not base_url and not model:
        return None
    if not base_url or not model:
        missing = "YTRAG_LLM_MODEL" if base_url else "YTRAG_LLM_BASE_URL"
        raise ConfigError(
            f"a language model needs {missing} too; set it, or unset the other for evidence alone"
        )
    from pydantic import ValidationError

    from ytrag_core.config import LLMSettings
    from ytrag_core.llm.openai_model import OpenAIModel

    fields: dict[str, Any] = {
        "base_url": base_url,
        "model": model,
        "api_key": os.environ.get("YTRAG_LLM_API_KEY", "").strip(),
    }
    try:
        return OpenAIModel(LLMSettings.model_validate(fields))
    except ValidationError:
        raise ConfigError(
            "YTRAG_LLM_BASE_URL must start with http:// or https:// and a host, "
            "for example http://localhost:11434/v1"
        ) from None
