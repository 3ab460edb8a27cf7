"""Text as the rest of ytrag may rely on it: NUL-free, encodable, with plain line ends."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

__all__ = ["clean_pieces", "clean_text", "path_name"]

_MARK = "\ufeff"

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean_text(text: str) -> str:
    """Return a text without NUL characters and lone surrogates, with line feeds as line ends.

    Parameters
    ----------
    text
        Any string; it is returned itself where nothing has to change.

    Returns
    -------
    str
        NULs and a leading byte-order mark are dropped, a lone surrogate (which no encoding can store)
        becomes U+FFFD.
    """
    return _plain(text).removeprefix(_MARK)


def clean_pieces(pieces: Iterable[str]) -> Iterator[str]:
    """Yield a text that comes piece by piece as `clean_text` returns it as a whole; no piece is empty.

    Parameters
    ----------
    pieces
        The text. Line ends may lie across the pieces' borders, pairs of surrogates may not.
    """
    held, is_start = "", True
    for piece in pieces:
        text = held + piece.replace("\0", "")
        held = "\r" if text.endswith("\r") else ""  # the line feed may be the next piece's first character
        text = _plain(text[:-1] if held else text)
        if is_start and text:
            text, is_start = text.removeprefix(_MARK), False
        if text:
            yield text
    if held:
        yield "\n"


def _plain(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def path_name(path: Path) -> str:
    """Return a path as given, with forward slashes, safe to print and to store.

    Parameters
    ----------
    path
        Any path; bytes of its name that are not UTF-8 become U+FFFD.
    """
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")
