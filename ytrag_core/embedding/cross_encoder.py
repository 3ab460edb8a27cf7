"""A cross-encoder in ONNX: how well a passage answers a question, read as one pair."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ytrag_core.config import available_cores
from ytrag_core.embedding.batching import load_tokenizer
from ytrag_core.embedding.inference import open_session
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import onnxruntime as ort
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

__all__ = ["CrossEncoder"]

_PLACES = ("model.onnx", "onnx/model.onnx")
_TOKENIZER = "tokenizer.json"
_MAX_TOKENS = 512
_BATCH_TOKENS = 4096
_MOST_CHARACTERS = 20_000
_INTEGERS: dict[str, type[np.integer[Any]]] = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class CrossEncoder:
    """Scores pairs of question and passage; safe to call from many threads.

    Parameters
    ----------
    session
        The model.
    tokenizer
        Its tokeniser, which cuts the passage only.
    batch_tokens
        Most tokens of one run, padding included.
    """

    def __init__(
        self, session: ort.InferenceSession, tokenizer: Tokenizer, batch_tokens: int = _BATCH_TOKENS
    ) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._batch_tokens = batch_tokens
        self._inputs = {role: _role_input(session, role) for role in ("ids", "mask", "segments")}

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        max_tokens: int | None = None,
        batch_tokens: int = _BATCH_TOKENS,
        n_threads: int | None = None,
    ) -> CrossEncoder:
        """Open the cross-encoder in a folder.

        Parameters
        ----------
        folder
            Holds `model.onnx` (or `onnx/model.onnx`), whose inputs are `input_ids`, `attention_mask` and,
            where the model has token types, `token_type_ids`, and whose first output is one number a pair or
            one for each of two classes, the second of which says yes; and `tokenizer.json`.
        max_tokens
            Longest pair; by default what `tokenizer_config.json` or `config.json` say, at most 512. A longer
            passage is cut, a question never.
        batch_tokens
            Most tokens of one run, padding included; a single pair may have more.
        n_threads
            Threads of one run; all available cores by default.

        Raises
        ------
        ModelError
            A file is missing or of another kind.
        """
        model = next((folder / place for place in _PLACES if (folder / place).is_file()), None)
        if model is None or not (folder / _TOKENIZER).is_file():
            missing = _PLACES[0] if model is None else _TOKENIZER
            raise ModelError(
                f"{folder} has no {missing}; a reranker is a folder with {_PLACES[0]} and {_TOKENIZER}: "
                "export a cross-encoder for sequence classification to ONNX"
            )
        tokenizer = load_tokenizer(folder / _TOKENIZER)
        limit = max_tokens or _longest(folder)
        tokenizer.enable_truncation(limit, strategy="only_second")
        session = open_session(model, n_threads or available_cores())
        return cls(session, tokenizer, batch_tokens)

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each passage answers the question.

        Parameters
        ----------
        question
            The question.
        passages
            Titles and texts.

        Returns
        -------
        ndarray
            (n_passages,) float32: the model's number, or of two classes the logarithm of their odds.

        Raises
        ------
        ModelError
            The model's output is of another shape.
        """
        scores = np.empty(len(passages), np.float32)
        if not len(passages):
            return scores
        pairs = [(question, passage[:_MOST_CHARACTERS]) for passage in passages]
        encodings = self._encoded(pairs)
        lengths = np.array([len(encoding.ids) for encoding in encodings])
        order = np.argsort(lengths, kind="stable")
        for rows in _batches(order, lengths, self._batch_tokens):
            scores[rows] = self._run([encodings[row] for row in rows.tolist()])
        return scores

    def _encoded(self, pairs: list[tuple[str, str]]) -> list[Encoding]:
        try:
            return list(self._tokenizer.encode_batch(pairs))
        except Exception as error:  # the library raises nothing narrower
            # The passage cannot be cut to make room: the question alone is too long.
            raise ModelError(
                f"the reranker cannot read a question of {len(pairs[0][0]):,} characters beside a passage "
                f"({error}): shorten it, or ask without --reranker"
            ) from error

    def _run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        """Score pairs of about one length, padded to the longest."""
        width = max(len(encoding.ids) for encoding in encodings)
        columns = {role: np.zeros((len(encodings), width), np.int64) for role in self._inputs}
        for row, encoding in enumerate(encodings):
            length = len(encoding.ids)
            columns["ids"][row, :length] = encoding.ids
            columns["mask"][row, :length] = 1
            columns["segments"][row, :length] = encoding.type_ids
        feeds = {
            found[0]: columns[role].astype(found[1])
            for role, found in self._inputs.items()
            if found is not None
        }
        outputs: list[Any] = list(self._session.run(None, feeds))
        logits = np.asarray(outputs[0], np.float32)
        if logits.ndim == 2 and logits.shape[1] == 2:
            logits = logits[:, 1] - logits[:, 0]
        if logits.size != len(encodings):
            raise ModelError(
                f"the reranker's output has shape {logits.shape} for {len(encodings)} pairs; one number or "
                "two classes a pair are wanted: export a cross-encoder for sequence classification"
            )
        return logits.reshape(-1)


def _role_input(session: ort.InferenceSession, role: str) -> tuple[str, type[np.integer[Any]]] | None:
    """Return the name and type of the input for token ids, their mask or their types."""
    part = {"ids": "input_ids", "mask": "attention_mask", "segments": "token_type"}[role]
    for value in session.get_inputs():
        if part in value.name.lower() and value.type in _INTEGERS:
            return value.name, _INTEGERS[value.type]
    if role == "ids":
        names = ", ".join(value.name for value in session.get_inputs())
        raise ModelError(
            f"the reranker has the inputs {names}; integers called input_ids are wanted, attention_mask and "
            "token_type_ids where it has them"
        )
    return None


def _longest(folder: Path) -> int:
    """Return the longest pair that the files beside the model speak of, at most 512 tokens."""
    said = [_MAX_TOKENS]
    for name, key in (
        ("tokenizer_config.json", "model_max_length"),
        ("config.json", "max_position_embeddings"),
    ):
        try:
            value = json.loads((folder / name).read_text(encoding="utf-8")).get(key)
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(value, int) and value > 8:
            said.append(value)
    return min(said)


def _batches(
    order: NDArray[np.int64], lengths: NDArray[np.int64], batch_tokens: int
) -> Iterator[NDArray[np.int64]]:
    """Yield rows of ascending lengths in runs of at most `batch_tokens` when padded, or a single row."""
    cuts = [0]
    for place in range(1, len(order)):
        if (place + 1 - cuts[-1]) * int(lengths[order[place]]) > batch_tokens:
            cuts.append(place)
    for start, stop in pairwise([*cuts, len(order)]):
        yield order[start:stop]
