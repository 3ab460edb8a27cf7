"""Texts to encode, of known mean length: names, triples as sentences, passages, and a thousand odd ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["names", "odd_texts", "passages", "questions", "triples"]

_GIVEN = "Maria|Johann|Edith|Ludwig|Aurora|Kenji|Fatima|Pedro|Ingrid|Dmitri|Wei|Amara|Louis|Agnes|Tomas"
_FAMILY = "Keller|Nakamura|Oliveira|Bergstrom|Petrov|Okafor|Lindqvist|Marchetti|Zhang|Dubois|Harrow"
_PLACES = "Vienna|Nagasaki|Coimbra|Uppsala|Kazan|Lagos|Lyon|Bologna|Suzhou|Bristol|Antwerp|Tampere"
_KINDS = "University|Museum|Railway|Observatory|Harbour|Cathedral|Institute|Orchestra|Reservoir"
_RELATIONS = (
    "located in|member of|award received|country of citizenship|place of birth|published by|"
    "took part in the founding of|is the largest work of|was directed for many years by"
)
_CLAUSES = (
    "It was rebuilt after the fire of 1781|Historians disagree about the year|The collection is open to all|"
    "Two of its halls were closed during the war|A bridge joins it to the old town|Its founder left no will|"
    "The river floods the lower quarter each spring|Visitors come by the night train from the coast"
)
_ODD = (
    "",
    " ",
    "\n",
    "中文",
    "北京是中华人民共和国的首都。",
    "贾宝玉和林黛玉是什么关系？",
    "😀🎉 party 👩‍👩‍👧‍👦",
    "Москва — столица России",
    "مرحبا بالعالم",
    "½ ﬁ ① Å é é",
)


def names(n: int, seed: int = 0) -> list[str]:
    """Return names of 3 to 15 tokens, 6 in the mean."""
    rng = np.random.default_rng(seed)
    return [_name(rng) for _ in range(n)]


def triples(n: int, seed: int = 1) -> list[str]:
    """Return triples as sentences, 16 tokens in the mean."""
    rng = np.random.default_rng(seed)
    return [
        f"{_name(rng)} {_pick(rng, _RELATIONS)} {_name(rng)}, {_pick(rng, _PLACES)} {_pick(rng, _KINDS)}"
        for _ in range(n)
    ]


def passages(n: int, tokenizer: Tokenizer, n_tokens: int = 128, seed: int = 2) -> list[str]:
    """Return passages cut to exactly so many tokens."""
    rng = np.random.default_rng(seed)
    texts = []
    for _ in range(n):
        sentences = (
            f"{_name(rng)} {_pick(rng, _RELATIONS)} {_name(rng)}. {_pick(rng, _CLAUSES)}." for _ in range(12)
        )
        text = " ".join(sentences)
        texts.append(text[: tokenizer.encode(text).offsets[n_tokens - 2][1]])
    return texts


def questions(n: int, seed: int = 3) -> list[str]:
    """Return different questions of about 15 tokens."""
    rng = np.random.default_rng(seed)
    kinds, places = _KINDS.lower(), _PLACES
    return [
        f"Which {_pick(rng, kinds)} of {_pick(rng, places)} did {_name(rng)} found in {1500 + number}?"
        for number in range(n)
    ]


def odd_texts(tokenizer: Tokenizer, n: int = 1000) -> list[str]:
    """Return names, triples, questions, passages, other scripts, emoji, empty texts, 10,000 characters."""
    texts = [*_ODD, "x" * 10_000, "word " * 2000, "一座城市" * 2500, "😀🎉" * 5000]
    texts += passages(n // 10, tokenizer, seed=11) + questions(n // 10, seed=12) + triples(n // 5, seed=13)
    texts += [f"{odd} {name}" for odd in _ODD for name in names(n // 50, seed=14)]
    return texts + names(n - len(texts), seed=15)


def _name(rng: np.random.Generator) -> str:
    match int(rng.integers(0, 4)):
        case 0:
            return f"{_pick(rng, _GIVEN)} {_pick(rng, _FAMILY)}"
        case 1:
            return f"Saint {_pick(rng, _GIVEN)} of {_pick(rng, _PLACES)}"
        case 2:
            return f"{_pick(rng, _PLACES)} {_pick(rng, _KINDS)}"
        case _:
            return (
                f"{_pick(rng, _GIVEN)} {_pick(rng, _FAMILY)} {_pick(rng, _KINDS)}, {rng.integers(1500, 2020)}"
            )


def _pick(rng: np.random.Generator, choices: str) -> str:
    split = choices.split("|")
    return split[int(rng.integers(0, len(split)))]
