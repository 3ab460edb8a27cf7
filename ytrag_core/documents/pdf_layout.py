"""The lines of a PDF page in reading order: characters to pieces, pieces to columns, columns to lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from ytrag_core.documents.builder import CJK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["Glyph", "Line", "Piece", "lines_of", "pieces_of", "reading_order"]

_GAP = 1.5
_SPACE_GAP = 0.15
_FEWEST_LINES = 5
_FEWEST_WIDTH = 0.45
_MOST_CROSSING = 0.35
_DEEPEST = 3
_MOST_PIECES = 3000
_WIDE = re.compile(f"[{CJK}]")


@dataclass(frozen=True, slots=True)
class Glyph:
    """A character with its box in points, the origin at the bottom left of the page as it is shown."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_bold: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """Text without a wide gap in it; the box is in points, the size that of most characters."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_bold: bool


@dataclass(frozen=True, slots=True)
class Line:
    """Pieces side by side; `is_row` where wide gaps lie between them, as in a table.

    Attributes
    ----------
    column
        (left, right) edges of the column that it stands in.
    page
        From 1.
    """

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    is_bold: bool
    is_row: bool
    column: tuple[float, float]
    page: int


def pieces_of(glyphs: Iterable[Glyph]) -> list[Piece]:
    """Return the pieces of a page in the order in which they were drawn.

    Parameters
    ----------
    glyphs
        In drawing order; white space among them counts as a word space, however wide.
    """
    pieces: list[Piece] = []
    current: list[Glyph] = []
    needs_space = False
    for glyph in glyphs:
        if glyph.text.isspace():
            needs_space = True
            if glyph.text == "\n":
                _flush(current, pieces)
            continue
        if current and _is_apart(current[-1], glyph):
            _flush(current, pieces)
        if current:
            last = current[-1]
            gap = glyph.x0 - last.x1
            is_wide = _WIDE.match(glyph.text) and _WIDE.match(last.text)
            if (needs_space and not is_wide) or gap > max(_SPACE_GAP, 0.5 * bool(is_wide)) * glyph.size:
                current.append(Glyph(" ", last.x1, last.y0, glyph.x0, last.y1, last.size, last.is_bold))
        needs_space = False
        current.append(glyph)
    _flush(current, pieces)
    return pieces


def _is_apart(last: Glyph, glyph: Glyph) -> bool:
    size = max(last.size, glyph.size)
    shift = abs((last.y0 + last.y1) - (glyph.y0 + glyph.y1)) / 2
    return shift > 0.6 * size or glyph.x0 - last.x1 > _GAP * size or glyph.x0 < last.x0 - size


def _flush(current: list[Glyph], pieces: list[Piece]) -> None:
    if current:
        sizes = sorted(glyph.size for glyph in current)
        n_bold = sum(glyph.is_bold for glyph in current)
        pieces.append(
            Piece(
                "".join(glyph.text for glyph in current),
                min(glyph.x0 for glyph in current),
                min(glyph.y0 for glyph in current),
                max(glyph.x1 for glyph in current),
                max(glyph.y1 for glyph in current),
                sizes[len(sizes) // 2],
                2 * n_bold > len(current),
            )
        )
        current.clear()


def lines_of(pieces: Sequence[Piece], page: int) -> list[Line]:
    """Return the lines that pieces of one column make, from the top down.

    Parameters
    ----------
    pieces
        In any order.
    page
        Number of the page.
    """
    if not pieces:
        return []
    column = (min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces))
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=lambda piece: (-(piece.y0 + piece.y1), piece.x0)):
        # A raised number belongs to the line that it overlaps, and may come just before it.
        home = next((row for row in rows[-3:] if _overlap(row, piece)), None)
        if home is None:
            rows.append([piece])
        else:
            home.append(piece)
    return [_line(row, column, page) for row in rows]


def _overlap(row: list[Piece], piece: Piece) -> bool:
    y0, y1 = max(row, key=lambda part: part.size).y0, max(row, key=lambda part: part.size).y1
    shared = min(y1, piece.y1) - max(y0, piece.y0)
    return shared > 0.5 * min(y1 - y0, piece.y1 - piece.y0)


def _line(row: list[Piece], column: tuple[float, float], page: int) -> Line:
    row.sort(key=lambda piece: piece.x0)
    text, is_row = row[0].text, False
    for before, piece in pairwise(row):
        gap = piece.x0 - before.x1
        if gap > _GAP * piece.size:
            text, is_row = f"{text}\t{piece.text}", True
        else:
            is_wide = _WIDE.match(text[-1]) and _WIDE.match(piece.text)
            text += ("" if is_wide or gap < _SPACE_GAP * piece.size else " ") + piece.text
    longest = max(row, key=lambda piece: len(piece.text))
    return Line(
        text,
        row[0].x0,
        min(piece.y0 for piece in row),
        max(piece.x1 for piece in row),
        max(piece.y1 for piece in row),
        longest.size,
        longest.is_bold,
        is_row,
        column,
        page,
    )


def reading_order(pieces: Sequence[Piece], depth: int = 0) -> list[list[Piece]]:
    """Return groups of pieces, each of one column, in the order in which they are read.

    Parameters
    ----------
    pieces
        Of one page, in any order.
    depth
        How often the page was cut already.

    Notes
    -----
    A page is cut where a vertical line crosses few pieces and both sides hold running text, lines that fill
    half of their side at least: the cells of a table do not. What crosses the line, a title or a wide
    picture's caption, separates what stands above from what stands below; in between the left side comes
    first.
    """
    split = _gutter(pieces) if depth < _DEEPEST else None
    if split is None:
        return [list(pieces)]
    groups: list[list[Piece]] = []
    across: list[Piece] = []
    left: list[Piece] = []
    right: list[Piece] = []
    for piece in sorted(pieces, key=lambda piece: -(piece.y0 + piece.y1)):
        if piece.x0 < split < piece.x1:
            if left or right:
                groups += [
                    group for side in (left, right) for group in reading_order(side, depth + 1) if group
                ]
                left, right = [], []
            across.append(piece)
            continue
        if across:
            groups.append(across)
            across = []
        (left if piece.x1 <= split else right).append(piece)
    groups += [group for side in (left, right) for group in reading_order(side, depth + 1) if group]
    return [*groups, across] if across else groups


def _gutter(pieces: Sequence[Piece]) -> float | None:
    """Return where a page has to be cut in two columns, None where it has one."""
    if not 2 * _FEWEST_LINES <= len(pieces) <= _MOST_PIECES:
        return None
    x0, x1 = min(piece.x0 for piece in pieces), max(piece.x1 for piece in pieces)
    edges = {float(round(piece.x0) - 1) for piece in pieces}
    best: tuple[int, float, float] | None = None
    for split in sorted(edges):
        if not x0 + 0.18 * (x1 - x0) < split < x0 + 0.82 * (x1 - x0):
            continue
        left = [piece for piece in pieces if piece.x1 <= split]
        right = [piece for piece in pieces if piece.x0 >= split]
        n_crossing = len(pieces) - len(left) - len(right)
        if n_crossing > _MOST_CROSSING * len(pieces) or not (_is_text(left) and _is_text(right)):
            continue
        top = min(max(piece.y1 for piece in side) for side in (left, right))
        bottom = max(min(piece.y0 for piece in side) for side in (left, right))
        low = min(max(p.y1 for p in side) - min(p.y0 for p in side) for side in (left, right))
        if top - bottom < 0.3 * low:
            continue
        candidate = (n_crossing, -float(split - max(piece.x1 for piece in left)), split)
        best = candidate if best is None or candidate < best else best
    return None if best is None else best[2]


def _is_text(side: Sequence[Piece]) -> bool:
    """Tell whether most pieces fill half of the side, as lines of running text do."""
    if len(side) < _FEWEST_LINES:
        return False
    width = max(piece.x1 for piece in side) - min(piece.x0 for piece in side)
    widths = sorted(piece.x1 - piece.x0 for piece in side)
    n_long = sum(len(piece.text) >= (8 if _WIDE.search(piece.text) else 16) for piece in side)
    return widths[len(widths) // 2] >= _FEWEST_WIDTH * width and 2 * n_long > len(side)
