"""Windows of long texts: each fits, together they cover, and they break where a sentence or a word does."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tests.tiny_encoder import WORDS
from ytrag_core.embedding.reuse import token_limit
from ytrag_core.embedding.windows import TokenLimit, Windows, cut_windows, too_long
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder


def word_piece() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return ended(tokenizer)


def unigram() -> Tokenizer:
    """A tokeniser of letters and pairs, whose spaces belong to the tokens behind them."""
    pieces = [
        ("<unk>", -9.0),
        ("▁", -2.0),
        *((letter, -3.0) for letter in "abcdefg.!?。\n中文"),
        ("ab", -3.5),
    ]
    tokenizer = Tokenizer(
        models.Unigram([("[CLS]", 0.0), ("[UNK]", 0.0), ("x", 0.0), ("[SEP]", 0.0), *pieces], 4)
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    return ended(tokenizer)


def ended(tokenizer: Tokenizer) -> Tokenizer:
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return tokenizer


TOKENIZERS = {"word pieces": word_piece(), "unigrams": unigram()}


def spans(windows: Windows, position: int) -> list[tuple[int, int]]:
    start, end = windows.indptr[position : position + 2].tolist()
    return [(first, last) for first, last in windows.offsets[start:end].tolist()]


def check_cover(windows: Windows, position: int, text: str) -> None:
    """Every character but white space is in a window, and none begins where the one before does."""
    cut = spans(windows, position)
    assert cut[0][0] == 0
    assert cut[-1][1] == len(text)
    for before, after in pairwise(cut):
        assert before[0] < after[0]
        assert before[1] < after[1]
        assert not text[before[1] : after[0]].strip()


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.text("abg .!?。\n中文x\t", max_size=120), max_size=4),
    st.sampled_from(["", "a\n", "a b c d e f g\n"]),
    st.integers(6, 20),
    st.sampled_from(sorted(TOKENIZERS)),
)
def test_windows_fit_and_cover(texts: list[str], lead: str, max_tokens: int, kind: str) -> None:
    limit = TokenLimit(TOKENIZERS[kind], max_tokens)
    windows = cut_windows(texts, limit, [lead] * len(texts))
    assert len(windows.indptr) == len(texts) + 1
    assert len(windows.texts) == len(windows.offsets) == windows.indptr[-1]
    assert all(count <= max_tokens for count in limit.count(windows.texts) or [0])
    assert windows.owners().tolist() == np.repeat(np.arange(len(texts)), np.diff(windows.indptr)).tolist()
    lead_stays = limit.room(lead) >= max_tokens // 2
    for position, text in enumerate(texts):
        cut = spans(windows, position)
        if limit.count([lead + text])[0] <= max_tokens:
            assert cut == [(0, len(text))]
        elif lead_stays:
            check_cover(windows, position, text)
        else:
            assert cut[-1][1] == len(text)
        start = int(windows.indptr[position])
        if lead_stays or len(cut) == 1:
            for number, (first, last) in enumerate(cut):
                assert windows.texts[start + number] == lead + text[first:last]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=300), max_size=5), st.integers(8, 40))
def test_only_texts_beyond_the_window_are_too_long(texts: list[str], max_tokens: int) -> None:
    limit = TokenLimit(TOKENIZERS["word pieces"], max_tokens)
    wanted = [i for i, count in enumerate(limit.count(texts) if texts else []) if count > max_tokens]
    assert too_long(texts, limit) == wanted


def test_sentences_stay_whole_and_an_eighth_is_repeated(encoder: Encoder) -> None:
    sentences = [f"Ship number {n} of the fleet sails down the Danube to Vienna." for n in range(150)]
    text = " ".join(sentences)
    windows = cut_windows([text], token_limit(encoder), ["The fleet\n"])
    assert 5 < len(windows.texts) < 15
    check_cover(windows, 0, text)
    for window in windows.texts:
        assert window.startswith("The fleet\n")
        assert window.removeprefix("The fleet\n").strip().startswith("Ship number")
        assert window.endswith("Vienna.")
    cut = spans(windows, 0)
    repeated = [before[1] - after[0] for before, after in pairwise(cut)]
    lengths = [last - first for first, last in cut]
    assert all(length / 20 < shared < length / 4 for shared, length in zip(repeated, lengths, strict=False))


def test_chinese_breaks_at_its_full_stop(encoder: Encoder) -> None:
    text = "黛玉走到园中，见花落满地。" * 80
    windows = cut_windows([text], token_limit(encoder))
    check_cover(windows, 0, text)
    assert len(windows.texts) > 3
    assert all(window.endswith("。") for window in windows.texts)
    assert all(window.startswith("黛玉") for window in windows.texts)


def test_a_text_that_fits_is_left_as_it_is(encoder: Encoder) -> None:
    texts = ["", "Vienna", "word " * 253, "中" * 254, "x" * 9_000]
    windows = cut_windows(texts, token_limit(encoder))
    assert windows.texts == texts
    assert windows.indptr.tolist() == [0, 1, 2, 3, 4, 5]
    assert len(cut_windows(["word " * 255], token_limit(encoder)).texts) == 2


def test_a_title_that_fills_the_window_is_cut_with_the_text(encoder: Encoder) -> None:
    title = " ".join(f"title {n}" for n in range(300)) + "\n"
    text = "The end is here."
    windows = cut_windows([text], token_limit(encoder), [title])
    assert len(windows.texts) > 2
    assert windows.texts[0].startswith("title 0 title 1")
    assert windows.texts[-1].endswith(text)
    assert spans(windows, 0)[0] == (0, 0)
    assert spans(windows, 0)[-1] == (0, len(text))


def test_the_prefix_counts(encoder: Encoder) -> None:
    limit = token_limit(encoder)
    text = "word " * 254
    assert len(cut_windows([text], limit).texts) == 1
    prefixed = replace(limit, prefix="passage: ")
    windows = cut_windows([text], prefixed)
    assert len(windows.texts) == 2
    assert max(prefixed.count(windows.texts)) <= 256


def test_lone_surrogates_and_odd_spaces(encoder: Encoder) -> None:
    text = "\ud800 ship\u3000\u00a0sails\x00 " * 200
    windows = cut_windows([text], token_limit(encoder))
    check_cover(windows, 0, text)
    assert max(token_limit(encoder).count(windows.texts)) <= 256


def test_what_stands_behind_a_huge_word_is_not_lost(encoder: Encoder) -> None:
    text = f"{'x' * 40_000} the river {'y' * 31_000} Vienna"
    windows = cut_windows([text], token_limit(encoder))
    assert windows.texts[0] == "x" * 40_000
    assert windows.texts[-1].endswith("Vienna")
    assert all(len(window) <= 30_000 for window in windows.texts if " " in window)
    assert {word for window in windows.texts for word in window.split()} == set(text.split())


def test_a_prefix_without_room_is_an_error(encoder: Encoder) -> None:
    limit = TokenLimit(encoder.tokenizer, 6, "a long prefix of many words ")
    with pytest.raises(ModelError, match="no room behind its prefix"):
        cut_windows(["Vienna"], limit)
