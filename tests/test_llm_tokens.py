"""The estimate of tokens beside real tokenisers of different kinds."""

from __future__ import annotations

import json
import urllib.request
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.house import modules
from ytrag_core.embedding.cache import default_cache
from ytrag_core.embedding.precision import CONVERSIONS
from ytrag_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.local_model import LocalModel
    from ytrag_core.embedding.encoder import Encoder

EMOJI = ["Great job 👍🏽🎉 see you 👋", "好的👌 明白了😊", "✅ done ❌ failed ⚠️ warn", "😀😃😄😁😆😅🤣😂🙂🙃"]


def check(texts: Sequence[str], n_tokens: Callable[[str], int]) -> float:
    """Check that hardly any estimate is too low, and return how high they are in sum."""
    pairs = [(estimate_tokens(text), n_tokens(text)) for text in texts]
    low = [(estimate, exact) for estimate, exact in pairs if estimate < exact]
    assert len(low) <= 0.01 * len(pairs), low
    assert all(estimate >= 0.85 * exact for estimate, exact in low), low
    return sum(estimate for estimate, _ in pairs) / sum(exact for _, exact in pairs)


def english(shared_data: Path) -> list[str]:
    return _texts(shared_data / "musique_train" / "corpus.jsonl")[:400]


def chinese(shared_data: Path) -> list[str]:
    novel = _texts(shared_data / "hongloumeng_extraction_zh" / "corpus.jsonl")
    return novel + _texts(shared_data / "cmrc2018_trial_zh" / "corpus.jsonl")


def code() -> list[str]:
    """Return all whole pieces of 800 characters of every seventh module of the product."""
    sources = [module.path.read_text(encoding="utf-8") for module in modules()[::7]]
    return [source[at : at + 800] for source in sources for at in range(0, len(source) - 799, 800)]


def test_word_pieces(encoder: Encoder, shared_data: Path) -> None:
    tokenizer = encoder.tokenizer

    def n_tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert check(english(shared_data), n_tokens) < 1.45
    assert check(chinese(shared_data), n_tokens) < 1.3
    assert check(code(), n_tokens) < 1.35
    check(EMOJI, n_tokens)


def test_unigrams(shared_data: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    path = default_cache() / "multilingual-e5-small" / CONVERSIONS["fp32"] / "tokenizer.json"
    if not path.is_file():
        pytest.skip("multilingual-e5-small is not in the cache")
    tokenizer = tokenizers.Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def n_tokens(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    assert check(english(shared_data), n_tokens) < 1.3
    assert check(chinese(shared_data), n_tokens) < 1.55  # it has a token for every common word
    assert check(code(), n_tokens) < 1.3
    check(EMOJI, n_tokens)


def test_byte_pairs_of_a_language_model(local_llm: LocalModel, shared_data: Path) -> None:
    address = local_llm.base_url.removesuffix("/v1") + "/tokenize"

    def n_tokens(text: str) -> int:
        body = json.dumps({"content": text}).encode()
        request = urllib.request.Request(address, body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=300) as answer:
            return len(json.loads(answer.read())["tokens"])

    assert check(english(shared_data)[::10], n_tokens) < 1.45
    check(code()[::10], n_tokens)


@given(st.text(), st.text())
def test_more_text_is_no_fewer_tokens(one: str, other: str) -> None:
    assert estimate_tokens("") == 0
    together = estimate_tokens(one + other)
    assert together <= estimate_tokens(one) + estimate_tokens(other) + 8
    assert together >= max(estimate_tokens(one), estimate_tokens(other)) - 8
    assert together > 0 or not (one + other).strip()


def _texts(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]
