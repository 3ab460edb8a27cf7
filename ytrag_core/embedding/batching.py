"""Texts to small batches of token ids, window by window.

A batch holds texts of one length. So nothing is padded, and what a text's vector is does not depend on its
neighbours: behind padding, sums are taken in another order, and in int8 a difference in the last bit can move
a rounded state by one.
"""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from tokenizers import Tokenizer

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["WINDOW_TEXTS", "Batch", "batches_of", "cutting_tokenizer", "load_tokenizer", "token_ids"]

WINDOW_TEXTS = 1 << 16
"""Texts that are tokenised and sorted together: enough for full batches, little to hold."""

_BATCH_TOKENS = 512
"""Tokens of one batch: its activations stay in the second-level cache."""

_LONG_TOKENS = 64
_LONG_BATCH_TOKENS = 256
"""Longer texts go in smaller batches: attention takes memory with the square of their length."""

_BLOCK_TEXTS = 4096
_BLOCK_CHARACTERS = 1 << 20
"""Texts tokenised in one call; the tokeniser holds about a hundred bytes a token until it returns."""

_MAX_CHARACTERS = 32768
"""A text is cut here before it is tokenised; far beyond any encoder's longest input."""


class Batch(NamedTuple):
    """Texts to encode in one run.

    Attributes
    ----------
    rows
        (n_texts,) int64, their places among all texts.
    ids
        (n_texts, n_tokens) int64.
    """

    rows: NDArray[np.int64]
    ids: NDArray[np.int64]


def load_tokenizer(path: Path, max_tokens: int | None = None) -> Tokenizer:
    """Load a tokeniser without the padding and cutting that its file prescribes.

    Parameters
    ----------
    path
        The tokeniser's JSON file.
    max_tokens
        Where to cut, special tokens included; nowhere without it.

    Returns
    -------
    Tokenizer
        The tokeniser.

    Raises
    ------
    ModelError
        If the file is none.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ModelError(f"the tokeniser {path} cannot be read: {error}") from error
    try:
        tokenizer = Tokenizer.from_str(text)
    except Exception as error:  # the library raises nothing narrower
        raise ModelError(f"{path} is no tokeniser's JSON file ({error}): fetch or export it again") from error
    tokenizer.no_padding()
    if max_tokens is None:
        tokenizer.no_truncation()
    else:
        tokenizer.enable_truncation(max_tokens)
    return tokenizer


def cutting_tokenizer(tokenizer: Tokenizer, max_tokens: int) -> Tokenizer:
    """Return a tokeniser that cuts at `max_tokens`, special tokens included, over the same vocabulary.

    The vocabulary is shared: one of 250,000 pieces takes a second and 300 MB to load.
    """
    cutting = Tokenizer(tokenizer.model)
    cutting.normalizer = tokenizer.normalizer
    cutting.pre_tokenizer = tokenizer.pre_tokenizer
    cutting.post_processor = tokenizer.post_processor
    for _, token in sorted(tokenizer.get_added_tokens_decoder().items()):
        add = cutting.add_special_tokens if token.special else cutting.add_tokens
        add([token])
    cutting.enable_truncation(max_tokens)
    return cutting


def token_ids(tokenizer: Tokenizer, text: str) -> list[int]:
    """Return the token ids of one text, in the caller's thread."""
    text = text[:_MAX_CHARACTERS]
    try:
        ids: list[int] = tokenizer.encode(text).ids
    except (UnicodeError, TypeError):
        ids = tokenizer.encode(_without_surrogates(text)).ids
    return ids


def batches_of(tokenizer: Tokenizer, texts: Sequence[str], prefix: str) -> Iterator[Batch]:
    """Yield texts in batches.

    Parameters
    ----------
    tokenizer
        One that cuts at the encoder's longest input.
    texts
        The texts; only `WINDOW_TEXTS` of them are looked at ahead.
    prefix
        Put before each.

    Yields
    ------
    Batch
        Texts of one length, at most 512 tokens or a single text; the longest of a window first.
    """
    for start in range(0, len(texts), WINDOW_TEXTS):
        tokens, indptr = _tokenize(tokenizer, texts[start : start + WINDOW_TEXTS], prefix)
        lengths = np.diff(indptr)
        order = np.argsort(lengths, kind="stable")
        for first, stop in reversed(_cuts(lengths[order])):
            rows = order[first:stop]
            places = indptr[rows][:, None] + np.arange(int(lengths[rows[0]]))
            yield Batch(rows + start, tokens[places].astype(np.int64))


def _tokenize(
    tokenizer: Tokenizer, texts: Sequence[str], prefix: str
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return all token ids in one array and the (n_texts + 1,) places where each text begins."""
    pieces: list[NDArray[np.int32]] = [np.zeros(0, np.int32)]
    lengths = [0]
    for block in _blocks(texts, prefix):
        try:
            encodings = tokenizer.encode_batch_fast(block)
        except (UnicodeError, TypeError):
            encodings = tokenizer.encode_batch_fast([_without_surrogates(text) for text in block])
        rows = [encoding.ids for encoding in encodings]
        lengths.extend(map(len, rows))
        pieces.append(np.fromiter(chain.from_iterable(rows), np.int32))
    return np.concatenate(pieces), np.cumsum(np.array(lengths, np.int64))


def _blocks(texts: Sequence[str], prefix: str) -> Iterator[list[str]]:
    """Yield prefixed texts, cut to a sane length, in blocks of bounded size."""
    block: list[str] = []
    n_characters = 0
    for text in texts:
        block.append((prefix + text)[:_MAX_CHARACTERS])
        n_characters += len(block[-1])
        if len(block) == _BLOCK_TEXTS or n_characters >= _BLOCK_CHARACTERS:
            yield block
            block, n_characters = [], 0
    if block:
        yield block


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, as JSON escapes can make them: they have no UTF-8 form."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _cuts(lengths: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Cut ascending lengths into runs of one length and of bounded tokens (or a single text)."""
    cuts: list[tuple[int, int]] = []
    starts = np.flatnonzero(np.diff(lengths, prepend=-1)).tolist()
    for start, stop in pairwise([*starts, len(lengths)]):
        length = max(int(lengths[start]), 1)
        budget = _BATCH_TOKENS if length <= _LONG_TOKENS else _LONG_BATCH_TOKENS
        step = max(budget // length, 1)
        cuts.extend((first, min(first + step, stop)) for first in range(start, stop, step))
    return cuts
