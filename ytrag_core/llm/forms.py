"""JSON Schemas of what a model is asked to reply, as the strictest of endpoints want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["exactly", "list_of"]


def exactly(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of an object that has just these fields, all of them: name -> schema."""
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }


def list_of(item: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return the JSON Schema of a list of at most so many items of one form."""
    return {"type": "array", "items": item, "maxItems": most}
