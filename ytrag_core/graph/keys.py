"""Keys and display forms of many surface forms at once, equal to those of one by one.

A block of names is joined by NUL, folded as one string and cut again: NFKC, case folding and the collapsing
of spaces do not reach across a NUL. What a name costs is then the passes over its characters alone, without
a call of Python for each. Blocks in which a name itself holds a NUL go one by one.
"""

# pyarrow.compute makes its functions when it is imported, where pyright cannot see them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from ytrag_core.documents.spaces import single_spaced
from ytrag_core.graph.normalise import EDGE, FOLD, PAIRS, display_form, entity_key, undressed

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["display_forms", "entity_keys", "relation_keys"]

_BLOCK = 4096
_SPACE = re.compile(r"\s+")
_FOLDED = [(chr(code), plain or "") for code, plain in FOLD.items() if code]
_DRESSED = f"^$|^[{re.escape(''.join(PAIRS))}]"


def entity_keys(names: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return `entity_key` of every name.

    Parameters
    ----------
    names
        (n,) large strings without nulls.

    Returns
    -------
    pyarrow.LargeStringArray
        (n,) keys.
    """
    return _by_block(names, _keys, entity_key)


def relation_keys(relations: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return `ytrag_core.graph.normalise.relation_key` of every relation name.

    Parameters
    ----------
    relations
        (n,) large strings without nulls.
    """
    keys = entity_keys(pc.replace_substring(relations, "_", " "))
    missing = pc.equal(keys, "")
    return _replaced(keys, missing, entity_keys(relations.filter(missing)))


def display_forms(names: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return every name fit for one line of output.

    Parameters
    ----------
    names
        (n,) large strings without nulls.
    """
    return _by_block(names, _displays, display_form)


def _by_block(
    names: pa.LargeStringArray, of_block: Callable[[pa.Array, str], pa.Array], of_one: Callable[[str], str]
) -> pa.LargeStringArray:
    done = [pa.array([], pa.large_string())]
    for start in range(0, len(names), _BLOCK):
        block = names.slice(start, _BLOCK)
        joined = _join(block)
        if joined.count("\0") == len(block) - 1:
            done.append(of_block(block, joined))
        else:
            done.append(pa.array([of_one(name) for name in block.to_pylist()], pa.large_string()))
    return pa.concat_arrays(done)


def _keys(_: pa.Array, joined: str) -> pa.Array:
    folded = unicodedata.normalize("NFKC", joined)
    for special, plain in _FOLDED:
        if special in folded:
            folded = folded.replace(special, plain)
    if not single_spaced(folded):
        folded = _SPACE.sub(" ", folded)
    whole = _cut(folded.casefold())
    stripped = pc.utf8_trim(whole, EDGE)
    dressed = pc.match_substring_regex(stripped, _DRESSED)
    rest = [undressed(name.strip()) for name in whole.filter(dressed).to_pylist()]
    return _replaced(stripped, dressed, pa.array(rest, pa.large_string()))


def _displays(block: pa.Array, joined: str) -> pa.Array:
    shown = joined if single_spaced(joined) else _SPACE.sub(" ", joined)
    shown = shown.replace(" \0", "\0").replace("\0 ", "\0").strip(" ")
    return block if shown == joined else _cut(shown)


def _join(block: pa.Array) -> str:
    as_list = pa.LargeListArray.from_arrays(pa.array([0, len(block)], pa.int64()), block)
    joined: str = pc.binary_join(as_list, pa.scalar("\0", pa.large_string()))[0].as_py()
    return joined


def _cut(joined: str) -> pa.Array:
    return pc.split_pattern(pa.array([joined], pa.large_string()), "\0").flatten()


def _replaced(values: pa.Array, mask: pa.Array, others: pa.Array) -> pa.Array:
    return pc.replace_with_mask(values, mask, others) if len(others) else values
