"""Texts beyond an encoder's longest input, cut into overlapping windows that lose nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

__all__ = ["TokenLimit", "Windows", "cut_windows", "too_long"]

_BLOCK = 1024
_OVERLAP = 8
"""Each window repeats an eighth of what fits of the one before."""

_MOST_EXPANSION = 12
"""Tokens that one character outside ASCII may become: four bytes, each of them three."""

_MOST_CHARACTERS = 30_000
"""Encoders read no more characters at once, however few tokens they are: one word may be that long."""

_CLOSERS = "\"'”’»)]）」』】"
_STOPS = frozenset(".!?…。！？；;")
_WIDE = "\u2e80"


@dataclass(frozen=True, slots=True)
class TokenLimit:
    """What an encoder takes at once.

    Attributes
    ----------
    tokenizer
        Without padding and truncation.
    max_tokens
        Longest input, special tokens and prefix included.
    prefix
        What the encoder puts before every text.
    """

    tokenizer: Tokenizer
    max_tokens: int
    prefix: str = ""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the number of tokens of each text, with prefix and special tokens."""
        encodings = self.tokenizer.encode_batch_fast([self.prefix + _valid(text) for text in texts])
        return [len(encoding.ids) for encoding in encodings]

    def room(self, lead: str) -> int:
        """Return how many tokens are left of a window that begins with `lead`."""
        return self.max_tokens - self.count([lead])[0]


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """Texts as they are encoded.

    Attributes
    ----------
    texts
        One for each window, text after text.
    indptr
        (n_texts + 1,) int64, where each text's windows begin; every text has at least one.
    offsets
        (n_windows, 2) int32, the characters of the text that a window holds, end exclusive.
    """

    texts: list[str]
    indptr: NDArray[np.int64]
    offsets: NDArray[np.int32]

    def owners(self) -> NDArray[np.int32]:
        """Return (n_windows,) int32, the text of each window, ascending."""
        return np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))


def _valid(text: str) -> str:
    """Return a text of the same length without lone surrogates, which have no UTF-8 form."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


def too_long(texts: Sequence[str], limit: TokenLimit) -> list[int]:
    """Return the positions of the texts that are longer than a window, ascending.

    Only texts that might be are tokenised: a token is at least one letter of ASCII.
    """
    room = limit.room("") - 1
    wide_room = room // _MOST_EXPANSION
    doubtful = [
        position
        for position, text in enumerate(texts)
        if len(text) > wide_room and (len(text) > room or not text.isascii())
    ]
    found: list[int] = []
    for start in range(0, len(doubtful), _BLOCK):
        block = doubtful[start : start + _BLOCK]
        counts = limit.count([texts[position] for position in block])
        found += [
            position
            for position, count in zip(block, counts, strict=True)
            if count > limit.max_tokens or len(texts[position]) > _MOST_CHARACTERS
        ]
    return found


def cut_windows(texts: Sequence[str], limit: TokenLimit, leads: Sequence[str] | None = None) -> Windows:
    """Cut texts into windows that an encoder takes whole.

    Parameters
    ----------
    texts
        Any strings.
    limit
        What the encoder takes.
    leads
        Put in front of every window of a text, for example its title and a line break. One that leaves less
        than half of a window stands before the text instead, once, and is cut with it.

    Returns
    -------
    Windows
        A text that fits with its lead is one window. The windows of another cover it, each repeats about an
        eighth of the one before, and they begin and end at a sentence's or a word's border where there is one
        in reach.

    Raises
    ------
    ModelError
        The encoder takes so few tokens, or its prefix is so long, that nothing fits.
    """
    leads = leads if leads is not None else [""] * len(texts)
    whole = [lead + text for lead, text in zip(leads, texts, strict=True)]
    beyond = set(too_long(whole, limit))
    cut: list[str] = []
    spans: list[tuple[int, int]] = []
    indptr = np.zeros(len(texts) + 1, np.int64)
    for position, (lead, text) in enumerate(zip(leads, texts, strict=True)):
        if position in beyond:
            for window, start, end in _cut(text, lead, limit):
                cut.append(window)
                spans.append((start, end))
        else:
            cut.append(whole[position])
            spans.append((0, len(text)))
        indptr[position + 1] = len(cut)
    return Windows(cut, indptr, np.array(spans, np.int32).reshape(-1, 2))


def _cut(text: str, lead: str, limit: TokenLimit) -> list[tuple[str, int, int]]:
    """Return window, start and end of a text that does not fit."""
    room = limit.room(lead)
    shift = 0
    if room < limit.max_tokens // 2:
        text, lead, shift = lead + text, "", len(lead)
        room = limit.room("")
    if room < 1:
        raise ModelError(
            f"an encoder that takes {limit.max_tokens} tokens has no room behind its prefix "
            f"{limit.prefix!r}: raise max_tokens in its description"
        )
    tokens = _Tokens(text, limit.tokenizer.encode(_valid(text), add_special_tokens=False))
    windows = []
    first = 0
    while True:
        last = _end(tokens, first, room)
        window, end = _fitted(tokens, first, last, lead, limit)
        begin, stop = tokens.span(first, end)
        windows.append((window, max(begin - shift, 0), max(stop - shift, 0)))
        if end == len(tokens):
            return windows
        first = _start(tokens, first, end, max(room // _OVERLAP, 1))


class _Tokens:
    """The tokens of a text, and which of them begin a word or a sentence."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self.text = text
        self._spans = [span for span in encoding.offsets if span[1] > span[0]]
        self._words = [
            word for word, span in zip(encoding.word_ids, encoding.offsets, strict=True) if span[1] > span[0]
        ]

    def __len__(self) -> int:
        return len(self._spans)

    def span(self, first: int, end: int) -> tuple[int, int]:
        """Return the characters of some tokens; what lies before the first and behind the last belongs."""
        start = self._spans[first][0] if first else 0
        return start, self._spans[end - 1][1] if end < len(self) else len(self.text)

    def length(self, first: int, end: int) -> int:
        """Return the number of characters of some tokens."""
        start, stop = self.span(first, end)
        return stop - start

    def border(self, position: int) -> int:
        """Return 2 where a sentence may begin with this token, 1 where a word does, else 0."""
        before, start = self._spans[position - 1][1], self._spans[position][0]
        apart = start > before or self.text[start].isspace()
        tail = self.text[max(before - 3, 0) : max(before, start)].rstrip()
        stop = tail.rstrip(_CLOSERS)[-1:]
        if (apart or stop >= _WIDE) and (stop in _STOPS or "\n" in self.text[before : start + 1]):
            return 2
        other_word = self._words[position] != self._words[position - 1]
        return int(apart or other_word or self.text[start] >= _WIDE)


def _end(tokens: _Tokens, first: int, room: int) -> int:
    """Return where a window from `first` ends: the last sentence in its last quarter, else the last word."""
    limit = min(first + room, len(tokens))
    while limit > first + 1 and tokens.length(first, limit) > _MOST_CHARACTERS:
        limit -= 1
    if limit == len(tokens):
        return len(tokens)
    for level, share in ((2, 4), (1, 2)):
        for position in range(limit, max(limit - room // share, first + 1), -1):
            if tokens.border(position) >= level:
                return position
    return limit


def _start(tokens: _Tokens, first: int, end: int, overlap: int) -> int:
    """Return where the window behind one of `first` to `end` begins, some `overlap` tokens before its end."""
    lowest = max(first + 1, end - overlap - overlap // 2)
    wanted = max(lowest, end - overlap)
    for level in (2, 1):
        near = [at for at in range(lowest, end - overlap // 2) if tokens.border(at) >= level]
        if near:
            return min(near, key=lambda at: (abs(at - wanted), at))
    return wanted


def _fitted(tokens: _Tokens, first: int, last: int, lead: str, limit: TokenLimit) -> tuple[str, int]:
    """Return a window and its end; a slice alone may have more tokens than it had within the text."""
    while True:
        begin, stop = tokens.span(first, last)
        window = lead + tokens.text[begin:stop]
        excess = limit.count([window])[0] - limit.max_tokens
        if excess <= 0 or last == first + 1:
            return window, last
        last = max(first + 1, last - excess)
