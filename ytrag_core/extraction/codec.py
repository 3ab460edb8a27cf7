"""Extractions as JSON, the form in which they are kept between builds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ytrag_core.errors import SnapshotError
from ytrag_core.extraction.model import EntityMention, Extraction

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["extraction_from_json", "extraction_to_json"]


def extraction_to_json(extraction: Extraction) -> dict[str, Any]:
    """Return an extraction as plain JSON values, without the chunk it belongs to.

    Parameters
    ----------
    extraction
        Any extraction.

    Returns
    -------
    dict
        {entities: [[name, type, aliases]], triples, attributes, malformed}; empty lists are left out.
    """
    payload: dict[str, Any] = {
        "entities": [[mention.name, mention.type, list(mention.aliases)] for mention in extraction.entities],
        "triples": [list(triple) for triple in extraction.triples],
        "attributes": [list(triple) for triple in extraction.attributes],
        "malformed": [list(pair) for pair in extraction.malformed],
    }
    return {name: rows for name, rows in payload.items() if rows}


def extraction_from_json(chunk_id: str, payload: Mapping[str, Any]) -> Extraction:
    """Return the extraction that `extraction_to_json` wrote.

    Parameters
    ----------
    chunk_id
        The chunk to which it belongs now.
    payload
        What `extraction_to_json` returned.

    Raises
    ------
    SnapshotError
        If the payload is of another form.
    """
    try:
        return Extraction(
            chunk_id=chunk_id,
            entities=tuple(
                EntityMention(_text(name), _text(kind), tuple(map(_text, aliases)))
                for name, kind, aliases in payload.get("entities", ())
            ),
            triples=tuple(_triple(row) for row in payload.get("triples", ())),
            attributes=tuple(_triple(row) for row in payload.get("attributes", ())),
            malformed=tuple((_text(shown), _text(reason)) for shown, reason in payload.get("malformed", ())),
        )
    except (AttributeError, TypeError, ValueError) as error:
        raise SnapshotError(
            f"the stored extraction of chunk {chunk_id!r} is damaged ({error}); index its document again"
        ) from error


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string was wanted, {type(value).__name__} arrived")
    return value


def _triple(row: Any) -> tuple[str, str, str]:
    head, relation, tail = row
    return _text(head), _text(relation), _text(tail)
