"""A SentencePiece unigram vocabulary, as XLM-RoBERTa uses it, to a tokeniser's JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["SpecialIds", "unigram_tokenizer"]

_WORD_START = "\u2581"
_KEPT, _STAND_IN = "\uff5e", "\ufdd0"
"""The fullwidth tilde has a piece of its own; a noncharacter carries it past NFKC, which would change it."""

_REMOVED = "[\\x{0}-\\x{8}\\x{B}\\x{E}-\\x{1F}\\x{7F}\\x{8F}\\x{9F}]"
_BLANK = "[\\x{9}\\x{A}\\x{C}\\x{D}\\x{1680}\\x{200B}-\\x{200F}\\x{2028}\\x{2029}\\x{2581}\\x{FEFF}\\x{FFFD}]"
"""What the vocabulary's own normalisation drops, or takes for a blank, beyond NFKC."""


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids of the pieces that stand for no text.

    Attributes
    ----------
    start, end
        Put around every text.
    pad
        Fills a batch.
    unknown
        Stands for characters that no piece has.
    """

    start: int
    end: int
    pad: int
    unknown: int


def unigram_tokenizer(pieces: Sequence[str], scores: Sequence[float], special: SpecialIds) -> bytes:
    """Write the JSON file of a unigram tokeniser.

    Parameters
    ----------
    pieces
        All pieces in the order of their ids, those of `special` among them; U+2581 begins a word.
    scores
        Log probability of each piece.
    special
        Which pieces are special.

    Returns
    -------
    bytes
        A `tokenizer.json`, the same bytes for the same input whatever is installed.

    Notes
    -----
    Texts are normalised as SentencePiece's `nmt_nfkc` does: NFKC, control characters dropped, every kind of
    blank taken for a space, runs of spaces made one, spaces at the end dropped. Differences remain where
    the Unicode tables differ in age. The best segmentation of each word is the likeliest one (Kudo 2018,
    "Subword Regularization", section 3.2); neighbouring unknown characters become one unknown piece.
    """
    template = [_token(pieces, special.start), {"Sequence": {"id": "A", "type_id": 0}}]
    template.append(_token(pieces, special.end))
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            _added(pieces, piece_id)
            for piece_id in sorted({special.start, special.end, special.pad, special.unknown})
        ],
        "normalizer": {"type": "Sequence", "normalizers": _normalizers()},
        "pre_tokenizer": _metaspace("Metaspace"),
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template,
            "pair": [*template, {"Sequence": {"id": "B", "type_id": 0}}, _token(pieces, special.end)],
            "special_tokens": {
                pieces[piece_id]: {"id": pieces[piece_id], "ids": [piece_id], "tokens": [pieces[piece_id]]}
                for piece_id in (special.start, special.end)
            },
        },
        "decoder": _metaspace("Metaspace"),
        "model": {
            "type": "Unigram",
            "unk_id": special.unknown,
            "vocab": list(zip(pieces, scores, strict=True)),
            "byte_fallback": False,
        },
    }
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    return text.encode()


def _normalizers() -> list[dict[str, Any]]:
    return [
        _replace({"Regex": _REMOVED}, ""),
        _replace({"Regex": _BLANK}, " "),
        _replace({"String": _KEPT}, _STAND_IN),
        {"type": "NFKC"},
        _replace({"String": _STAND_IN}, _KEPT),
        {"type": "Strip", "strip_left": False, "strip_right": True},
        _replace({"Regex": " {2,}"}, " "),
    ]


def _replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def _metaspace(kind: str) -> dict[str, Any]:
    return {"type": kind, "replacement": _WORD_START, "prepend_scheme": "always", "split": True}


def _token(pieces: Sequence[str], piece_id: int) -> dict[str, Any]:
    return {"SpecialToken": {"id": pieces[piece_id], "type_id": 0}}


def _added(pieces: Sequence[str], piece_id: int) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": piece_id, "content": pieces[piece_id], **flags}
