"""Chinese text to words with their parts of speech."""

from __future__ import annotations

import logging
import re
import warnings
from functools import lru_cache
from typing import Any

import platformdirs

__all__ = ["chinese_share", "chinese_tokens", "search_words", "word_count"]

_HAN = re.compile(r"[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f]")
_LETTER = re.compile(r"[^\W\d_]")


def chinese_share(text: str) -> float:
    """Return which part of a text's letters are Chinese characters, 0 where there are no letters.

    Parameters
    ----------
    text
        Any text.
    """
    n_letters = sum(1 for _ in _LETTER.finditer(text))
    return sum(1 for _ in _HAN.finditer(text)) / n_letters if n_letters else 0.0


def chinese_tokens(text: str) -> list[tuple[str, str]]:
    """Return the words of a text with jieba's part-of-speech flags, in order.

    Parameters
    ----------
    text
        Chinese text, possibly with other scripts in it.

    Returns
    -------
    list of (str, str)
        Joined, the words are the text. What the dictionary does not know comes out as single characters:
        the hidden Markov model that would join them is slow and invents words.
    """
    return [(pair.word, pair.flag) for pair in _tagger().cut(text, HMM=False)]


def search_words(text: str) -> list[str]:
    """Return the words of a Chinese text for a search index: long words and the shorter ones inside them.

    Parameters
    ----------
    text
        Chinese characters.
    """
    words: list[str] = _tokenizer().lcut_for_search(text, HMM=False)
    return words


def word_count(word: str) -> int:
    """Return how often the dictionary's makers met a word, 0 where it is unknown.

    Parameters
    ----------
    word
        A Chinese word.
    """
    return int(_tokenizer().FREQ.get(word) or 0)


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    """Return the splitter alone, which a question needs: its dictionary loads in half the tagger's time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba

        jieba.setLogLevel(logging.CRITICAL + 1)
        folder = platformdirs.user_cache_path("ytrag") / "jieba"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            logging.getLogger(__name__).debug("no cache for the dictionary: %s", error)
        tokenizer: Any = jieba.Tokenizer()
        tokenizer.tmp_dir = str(folder)
        tokenizer.initialize()
        return tokenizer


@lru_cache(maxsize=1)
def _tagger() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import jieba.posseg

        tagger = jieba.posseg.POSTokenizer(_tokenizer())
        tagger.initialize()
        return tagger
