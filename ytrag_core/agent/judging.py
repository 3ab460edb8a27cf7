"""Claims that another model judges: its verdicts, read leniently."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ytrag_core.errors import ReplyError
from ytrag_core.llm.forms import exactly, list_of
from ytrag_core.llm.structured import json_from_reply

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["judge_schema", "read_verdicts"]


def judge_schema(n_claims: int) -> dict[str, Any]:
    """Return the JSON Schema of the verdicts on so many claims."""
    verdict = exactly(
        {
            "claim": {"type": "integer"},
            "stated": {"type": "boolean"},
            "passages": list_of({"type": "integer"}, 4),
        }
    )
    return exactly({"verdicts": list_of(verdict, n_claims)})


def read_verdicts(text: str, n_claims: int, chunk_ids: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return the claims that are stated, by number, with the passages that state them.

    Parameters
    ----------
    text
        JSON of `judge_schema` in any wrapping.
    n_claims
        How many were judged.
    chunk_ids
        Number n of a passage is `chunk_ids[n - 1]`.

    Returns
    -------
    dict
        A verdict without a passage that exists does not count.
    """
    try:
        value = json_from_reply(text)
    except ReplyError:
        return {}
    verdicts = value.get("verdicts") if isinstance(value, dict) else value
    stated: dict[int, tuple[str, ...]] = {}
    for verdict in verdicts if isinstance(verdicts, list) else []:
        if not isinstance(verdict, dict) or verdict.get("stated") is not True:
            continue
        number, passages = verdict.get("claim"), verdict.get("passages")
        found = dict.fromkeys(
            chunk_ids[passage - 1]
            for passage in (passages if isinstance(passages, list) else [])
            if type(passage) is int and 1 <= passage <= len(chunk_ids)
        )
        if type(number) is int and 1 <= number <= n_claims and found:
            stated[number] = tuple(found)
    return stated
