"""What the environment says: where the encoder lies, and which language model to ask."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ConfigError

if TYPE_CHECKING:
    from ytrag_core.agent.llm import LanguageModel
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import Progress

__all__ = ["language_model", "load_encoder", "names_encoder"]


def names_encoder() -> bool:
    """Return whether YTRAG_ENCODER_PATH is set."""
    return bool(os.environ.get("YTRAG_ENCODER_PATH"))


def load_encoder(progress: Progress) -> Encoder:
    """Return the encoder, from YTRAG_ENCODER_PATH where that is set."""
    from ytrag_core.embedding.encoder import Encoder

    path = os.environ.get("YTRAG_ENCODER_PATH")
    return Encoder.load(
        Path(path) if path else None, progress=lambda done, total: progress("prepare encoder", done, total)
    )


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

    from ytrag_core.agent.llm import OpenAIModel
    from ytrag_core.config import LLMSettings

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
