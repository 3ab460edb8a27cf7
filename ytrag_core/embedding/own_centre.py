"""Measures what all vectors of a user's own encoder have in common, so that it can be taken away."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.embedding.own_probe import encode_plainly

if TYPE_CHECKING:
    from ytrag_core.embedding.cache import ModelFolder
    from ytrag_core.embedding.description import EncoderDescription

__all__ = ["unrelated_similarity", "with_centre"]

_MUCH = 0.5
"""Mean cosine of texts without any relation from which on they share too much; E5 has 0.8."""

_TEXTS = (
    "Mount Everest",
    "photosynthesis",
    "Johann Sebastian Bach",
    "interest rate",
    "born in",
    "1963",
    "capital of",
    "Lake Baikal",
    "the treaty of Utrecht",
    "The ferry leaves at seven in the morning.",
    "How do bees find their way home?",
    "She planted tomatoes behind the old garage.",
    "Quantum computers use superposition.",
    "The recipe needs two eggs and a pinch of salt.",
    "Who wrote the constitution of Japan?",
    "A court in Madrid rejected the appeal on Tuesday.",
    "The patient was given antibiotics for ten days.",
    "Rust is a systems programming language.",
    "故宫位于北京市中心。",
    "光合作用",
    "他在大学学习法律。",
    "今天的天气怎么样？",
    "长江",
    "李白是唐代诗人。",
    "新的地铁线将于明年开通。",
    "糖尿病的症状有哪些？",
    "这部电影获得了三项奖。",
    "股票市场",
    "La biblioteca abre los lunes.",
    "¿Dónde nació Cervantes?",
    "Die Brücke wurde 1890 gebaut.",
    "Le chat dort sur le canapé.",
    "Москва — столица России.",
    "Сколько стоит билет?",
    "東京は日本の首都です。",
    "桜の花が咲いた。",
    "القاهرة عاصمة مصر",
    "서울의 날씨가 춥다.",
)


def with_centre(description: EncoderDescription, files: ModelFolder) -> EncoderDescription:
    """Add the centre of an encoder to its description, where its vectors share much and none is given.

    Parameters
    ----------
    description
        What is known of the encoder.
    files
        It, ready to load.

    Returns
    -------
    EncoderDescription
        The same one, or one with the measured centre.

    Notes
    -----
    The mean over 38 short texts in several languages, each as a question and as a passage, none of which has
    to do with another.
    """
    if description.centre or unrelated_similarity(description, files) < _MUCH:
        return description
    prefixes = (description.passage_prefix, description.query_prefix)
    texts = [prefix + text for prefix in dict.fromkeys(prefixes) for text in _TEXTS]
    centre = encode_plainly(files, texts, description.max_tokens).mean(axis=0)
    return replace(description, centre=base64.b64encode(centre.astype("<f2").tobytes()).decode("ascii"))


def unrelated_similarity(description: EncoderDescription, files: ModelFolder) -> float:
    """Return the mean cosine of texts that have nothing to do with each other."""
    texts = [description.passage_prefix + text for text in _TEXTS]
    vectors = encode_plainly(files, texts, description.max_tokens)
    cosines = vectors @ vectors.T
    n = len(texts)
    return float((cosines.sum() - np.trace(cosines)) / (n * (n - 1)))
