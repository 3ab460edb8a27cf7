"""Surface forms to nodes: resolution by normalised key, linear in the number of strings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["ResolvedForms", "resolve_forms"]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedForms:
    """Distinct keys in ascending order with their surface forms.

    Attributes
    ----------
    keys
        Distinct keys, ascending by code point.
    names
        The surface form of each key seen most (ties: the lower by code point), on one line.
    aliases
        The other surface forms of each key, ascending, on one line each.
    counts
        (n_keys,) int64 occurrences.
    codes
        (n_input,) int32 key position of every input string, -1 where the key is empty.
    """

    keys: list[str]
    names: list[str]
    aliases: list[list[str]]
    counts: NDArray[np.int64]
    codes: NDArray[np.int32]


def resolve_forms(forms: pa.Array | pa.ChunkedArray, key_of: Callable[[str], str]) -> ResolvedForms:
    """Group surface forms by key.

    Parameters
    ----------
    forms
        String array, no nulls. Only its distinct values are normalised.
    key_of
        Normalisation; an empty key drops the form.

    Returns
    -------
    ResolvedForms
        Independent of the input order but for `codes`.
    """
    combined = forms.combine_chunks() if isinstance(forms, pa.ChunkedArray) else forms
    encoded = combined.dictionary_encode()
    surfaces: list[str] = encoded.dictionary.to_pylist()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    counts = np.bincount(codes, minlength=len(surfaces))
    grouped: dict[str, list[int]] = {}
    for position, surface in enumerate(surfaces):
        key = key_of(surface)
        if key:
            grouped.setdefault(key, []).append(position)
    keys = sorted(grouped)
    position_key = np.full(len(surfaces), -1, np.int32)
    names: list[str] = []
    aliases: list[list[str]] = []
    totals = np.zeros(len(keys), np.int64)
    for row, key in enumerate(keys):
        members = grouped[key]
        position_key[members] = row
        totals[row] = counts[members].sum() if len(members) > 1 else counts[members[0]]
        best = min(members, key=lambda member: (-counts[member], surfaces[member]))
        names.append(_display(surfaces[best]))
        aliases.append(sorted({_display(surfaces[member]) for member in members} - {names[-1]}))
    return ResolvedForms(
        keys, names, aliases, totals, position_key[codes] if codes.size else np.empty(0, np.int32)
    )


def _display(surface: str) -> str:
    """Return a surface form fit for one line of output."""
    return " ".join(surface.split())
