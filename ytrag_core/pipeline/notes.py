"""What a build says beside its result: that its texts are in a language that its encoder cannot read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from ytrag_core.documents.model import Document, LongDocument
    from ytrag_core.embedding.description import EncoderDescription
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["Scripts", "language_note", "other_script_share"]

_SAMPLE = 2000
_FIRST_CHARACTERS = 1000
_FOREIGN_LETTERS = 0.3
"""A text with this share of letters outside the Latin script is taken for one in another language."""

_MOSTLY = 0.5
_LATIN = re.compile(r"[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]")
_LETTER = re.compile(r"[^\W\d_]")
_PROPOSED = "multilingual-e5-small"


def language_note(snapshot: Snapshot, description: EncoderDescription) -> str | None:
    """Propose an encoder for many languages where ours reads English only and most texts are not English.

    Parameters
    ----------
    snapshot
        What was built.
    description
        The encoder that it was built with.

    Returns
    -------
    str or None
        One sentence for the user.

    Notes
    -----
    Judged by script, on an even sample of up to 2,000 passages (names, where there are none): Chinese,
    Japanese, Korean, Cyrillic, Arabic, Greek and so on are seen; a language in Latin letters, such as Spanish
    or Vietnamese, is not.
    """
    if description.language != "en":
        return None
    texts = _sample(snapshot)
    share = other_script_share(texts)
    if share <= _MOSTLY:
        return None
    return (
        f"{share:.0%} of the texts are not in Latin letters, and {description.name} reads English only: "
        f"`--encoder {_PROPOSED}` understands them (for what is built already: ytrag reembed --kb "
        f"{snapshot.root} --encoder {_PROPOSED})"
    )


class Scripts:
    """Tells while documents are read whether they are for the encoder, before it has worked for hours.

    Parameters
    ----------
    description
        The encoder.
    """

    def __init__(self, description: EncoderDescription) -> None:
        self._is_watching = description.language == "en"
        self._n_other = self._n_characters = 0

    def watch(self, documents: Iterable[Document | LongDocument]) -> Iterator[Document | LongDocument]:
        """Yield documents as they come; a stretch from the middle of each is looked at."""
        for document in documents:
            if self._is_watching:
                self._n_characters += document.n_characters
                self._n_other += bool(other_script_share([_stretch(document)])) * document.n_characters
            yield document

    def told(self) -> str:
        """Return a few words where most of the texts are in other letters; else nothing."""
        if self._n_other <= _MOSTLY * self._n_characters:
            return ""
        return f"mostly not in Latin letters: --encoder {_PROPOSED} understands them"


def _stretch(document: Document | LongDocument) -> str:
    try:
        piece = next(document.pieces(), "")
    except DocumentError:  # told where it is stored
        return ""
    middle = len(piece) // 2
    return piece[middle : middle + _FIRST_CHARACTERS]


def other_script_share(texts: Sequence[str]) -> float:
    """Return the share of texts, of those with letters, that are written in other letters than Latin ones.

    Parameters
    ----------
    texts
        Passages or names; the first 1,000 characters of each are looked at.
    """
    n_other = n_known = 0
    for text in texts:
        letters = _LETTER.findall(text[:_FIRST_CHARACTERS])
        if letters:
            n_known += 1
            n_latin = len(_LATIN.findall("".join(letters)))
            n_other += 1 - n_latin / len(letters) >= _FOREIGN_LETTERS
    return n_other / n_known if n_known else 0.0


def _sample(snapshot: Snapshot) -> list[str]:
    name, column = ("chunks", "text") if snapshot.manifest.counts.get("chunks") else ("entities", "name")
    values = snapshot.table(name, [column]).column(column)
    rows = np.unique(np.linspace(0, len(values) - 1, min(_SAMPLE, len(values))).astype(np.int64))
    texts: list[str] = values.take(rows).to_pylist() if len(values) else []
    return texts
