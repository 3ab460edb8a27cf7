"""A text that comes in pieces, as windows of whole lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

__all__ = ["line_windows"]

_LONGEST_LINE = 16_000_000
_MOST_TRIES = 1000


def line_windows(
    pieces: Iterable[str], follower: re.Pattern[str] | None = None, *, beginning: int = 0
) -> Iterator[tuple[int, str]]:
    """Yield windows of whole lines with their offsets; a text of one piece is one window.

    Parameters
    ----------
    pieces
        The text, with line feeds as line ends.
    follower
        Matches lines that are to be in one window with the line before them, at their beginning.
    beginning
        The first window has at least so many characters, unless the text has fewer.

    Yields
    ------
    int, str
        Offset of the window's first character, and the window. Joined, the windows are the text.

    Notes
    -----
    A line of more than 16 million characters is taken apart, and of more than a thousand followers in a row
    one may come to be the first line of its window.
    """
    offset, held = 0, ""
    coming = iter(pieces)
    piece = next(coming, None)
    while piece is not None:
        text = held + piece
        piece = next(coming, None)
        end = len(text) if piece is None else _border(text, follower)
        if piece is not None and not offset and end < beginning:
            end = 0
        elif not end and len(text) > _LONGEST_LINE:
            end = len(text)
        if end:
            yield offset, text[:end]
        offset, held = offset + end, text[end:]


def _border(text: str, follower: re.Pattern[str] | None) -> int:
    """Return the last offset at which a window may end, 0 where there is none."""
    line = text.rfind("\n") + 1  # may be cut
    if follower is None or not line:
        return line
    first = line = text.rfind("\n", 0, line - 1) + 1
    for _ in range(_MOST_TRIES):
        if not line or not follower.match(text, line):
            return line
        line = text.rfind("\n", 0, line - 1) + 1
    return first
