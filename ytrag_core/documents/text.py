"""Text as the rest of ytrag may rely on it: NUL-free, encodable, with plain line ends."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["clean_text", "path_name"]

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
    if "\0" in text:
        text = text.replace("\0", "")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    if _SURROGATE.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.removeprefix("\ufeff")


def path_name(path: Path) -> str:
    """Return a path as given, with forward slashes, safe to print and to store.

    Parameters
    ----------
    path
        Any path; bytes of its name that are not UTF-8 become U+FFFD.
    """
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")
