"""Many questions encoded together: the weights are read once a batch instead of once a question."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.batching import batches_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.embedding.batching import Batch
    from ytrag_core.embedding.encoder import Encoder

__all__ = ["encode_queries"]


def encode_queries(encoder: Encoder, texts: Sequence[str], n_threads: int) -> NDArray[np.float32]:
    """Encode questions in batches of one length, side by side on one thread each.

    Parameters
    ----------
    encoder
        The encoder.
    texts
        The questions.
    n_threads
        Batches encoded at once.

    Returns
    -------
    ndarray
        (n_texts, dimension) float32, unit-norm. Differs from `Encoder.encode_query` by rounding (about 1e-7).
    """
    vectors = np.empty((len(texts), encoder.dimension), np.float32)
    if not texts:
        return vectors
    session = encoder._session(1)
    tokenizer = encoder._cutting_tokenizer

    def encode_batch(batch: Batch) -> None:
        if batch.ids.shape[1] < encoder.description.max_tokens:
            vectors[batch.rows] = encoder._run(session, batch.ids)
            return
        # They may have been cut: how such a question is read is the encoder's.
        rows: list[int] = batch.rows.tolist()
        for row in rows:
            vectors[row] = encoder.encode_query(texts[row])

    with ThreadPoolExecutor(n_threads, thread_name_prefix="ytrag-encode") as pool:
        list(pool.map(encode_batch, batches_of(tokenizer, texts, encoder.description.query_prefix)))
    return vectors
