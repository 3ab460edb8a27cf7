"""Runs a user's own encoder on a few texts, so that a wrong description is told before anything is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors  # pyright: ignore[reportAttributeAccessIssue]

from ytrag_core.embedding.batching import load_tokenizer
from ytrag_core.embedding.inference import run_session
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.cache import ModelFolder
    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["encode_plainly", "probe"]

_TEXTS = ("", "a", "the town by the river", "北京是中国的首都。", "one two three four five six seven " * 400)
_TOLERANCE = 1e-2
_ERRORS = (
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
)


def probe(model: Path, tokenizer: Path, description: EncoderDescription) -> None:
    """Encode a few texts, one of them as long as the encoder takes, and two at once.

    Parameters
    ----------
    model, tokenizer
        The files, as they are loaded later.
    description
        What they are said to be.

    Raises
    ------
    ModelError
        If the encoder fails, or its vectors are of another width, not finite or not of length 1.
    """
    name = description.name
    inputs = _token_ids(tokenizer, description.max_tokens)
    if not inputs:
        raise ModelError(f"{tokenizer} makes no tokens: save the encoder's own tokeniser there")
    try:
        options = ort.SessionOptions()
        options.log_severity_level = 3
        session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        rows = [run_session(session, ids)[0] for ids in inputs]
        both = run_session(session, np.repeat(inputs[-1], 2, axis=0))
    except _ERRORS as error:
        raise ModelError(
            f"{name} fails on texts of up to {max(ids.shape[1] for ids in inputs)} tokens ({error}): correct "
            "max_tokens in encoder.toml, or export it again with a free batch and length"
        ) from error
    width = rows[0].shape[-1]
    if rows[0].ndim != 1 or width != description.dimension or both.shape != (2, width):
        raise ModelError(
            f"{name} makes vectors {width} wide, its description says {description.dimension}: correct "
            "dimension in encoder.toml"
        )
    vectors = np.stack(rows)
    if not np.isfinite(vectors).all():
        raise ModelError(f"{name} makes vectors that are not finite: it is damaged, or no sentence encoder")
    norms = np.linalg.norm(vectors, axis=1)
    if np.abs(norms - 1.0).max() > _TOLERANCE:
        raise ModelError(
            f"{name} makes vectors of length {norms.max():.3g}, wanted 1: set normalise = true in "
            "encoder.toml"
        )


def encode_plainly(files: ModelFolder, texts: Sequence[str], max_tokens: int) -> NDArray[np.float32]:
    """Return the vectors of a few texts as the model makes them, (n_texts, dimension) float32."""
    options = ort.SessionOptions()
    options.log_severity_level = 3
    session = ort.InferenceSession(str(files.model), options, providers=["CPUExecutionProvider"])
    rows = [run_session(session, ids)[0] for ids in _token_ids(files.tokenizer, max_tokens, texts)]
    return np.stack(rows)


def _token_ids(tokenizer: Path, max_tokens: int, texts: Sequence[str] = _TEXTS) -> list[NDArray[np.int64]]:
    loaded = load_tokenizer(tokenizer, max_tokens)
    rows = [loaded.encode(text).ids for text in texts]
    return [np.array([ids], np.int64) for ids in rows if ids]
