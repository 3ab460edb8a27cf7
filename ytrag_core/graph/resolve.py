"""Surface forms to nodes: resolution by normalised key, linear in the number of strings but for one sort."""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.graph.keys import display_forms

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["ResolvedForms", "resolve_forms"]


@dataclass(frozen=True, slots=True, eq=False)
class ResolvedForms:
    """Distinct keys in ascending order with their surface forms.

    Attributes
    ----------
    keys
        (n_keys,) distinct keys as large strings, ascending by code point.
    names
        (n_keys,) the surface form of each key seen most (ties: the lower by code point), on one line.
    aliases
        The other surface forms of a key, ascending, on one line each, by position of the key; keys without
        any are left out.
    key_of_form
        (n_forms + 1,) int32 key position of every surface form, -1 where its key is empty; the last is -1, so
        that the code -1 of a null has no key.
    """

    keys: pa.LargeStringArray
    names: pa.LargeStringArray
    aliases: dict[int, list[str]]
    key_of_form: NDArray[np.int32]


def resolve_forms(
    forms: pa.LargeStringArray, counts: NDArray[np.int64], keys: pa.LargeStringArray
) -> ResolvedForms:
    """Group surface forms by key.

    Parameters
    ----------
    forms
        (n_forms,) distinct surface forms.
    counts
        (n_forms,) how often each was seen.
    keys
        (n_forms,) their keys; an empty one drops the form.

    Returns
    -------
    ResolvedForms
        The keys, names and aliases do not depend on the order of the forms.

    Notes
    -----
    One sort of the keys; Python sees only the forms of keys that have several.
    """
    order = pc.sort_indices(keys).to_numpy().astype(np.int64)
    ordered = keys.take(order)
    n_empty = pc.sum(pc.equal(ordered, "")).as_py() or 0
    order, ordered = order[n_empty:], ordered.slice(n_empty)
    first = np.ones(order.shape[0], bool)
    first[1:] = pc.not_equal(ordered.slice(1), ordered.slice(0, max(len(ordered) - 1, 0)))
    starts = np.flatnonzero(first)
    key_of_form = np.full(len(forms) + 1, -1, np.int32)
    key_of_form[order] = np.cumsum(first, dtype=np.int32) - 1
    shown = display_forms(forms)
    best = order[starts]
    aliases: dict[int, list[str]] = {}
    sizes = np.diff(starts, append=order.shape[0])
    several = np.flatnonzero(sizes > 1)
    members = order[np.repeat(sizes > 1, sizes)]
    texts, displays = forms.take(members).to_pylist(), shown.take(members).to_pylist()
    group = list(zip(counts[members].tolist(), texts, displays, members.tolist(), strict=True))
    end = 0
    for row, size in zip(several.tolist(), sizes[several].tolist(), strict=True):
        begin, end = end, end + size
        name = min(group[begin:end], key=lambda form: (-form[0], form[1]))
        best[row] = name[3]
        others = {form[2] for form in group[begin:end]} - {name[2]}
        if others:
            aliases[row] = sorted(others)
    return ResolvedForms(ordered.filter(pa.array(first)), shown.take(best), aliases, key_of_form)
