"""The replies that extraction asks a language model for: what their schema says, and what is accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, WithJsonSchema, create_model, model_validator

from ytrag_core.extraction.tolerant import Records, read_records
from ytrag_core.llm.forms import exactly, list_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ChunkReply", "sentence_reply"]

_MOST_MALFORMED = 0.5
_MOST_TRIPLES = 8
_MOST_RECORDS, _MOST_TYPES = 48, 8
"""Of a whole passage: small models fall into lists without end, and what comes after is to have room."""
_TEXT = {"type": "string"}
_ALIASES = list_of(_TEXT, 8)


def _records(most: int, **fields: dict[str, Any]) -> WithJsonSchema:
    return WithJsonSchema(list_of(exactly(fields), most))


class ChunkReply(BaseModel):
    """Everything that a model says of one passage.

    Attributes
    ----------
    records
        What was read.

    Notes
    -----
    Stricter towards endpoints that follow a JSON Schema than towards those that do not: whatever shape the
    records come in, they are read (see `ytrag_core.extraction.tolerant`). Refused is what holds no list of
    records at all, or more that is none than records: such a reply is worth asking for once more.
    """

    model_config = ConfigDict(extra="allow")

    entities: Annotated[Any, _records(_MOST_RECORDS, name=_TEXT, type=_TEXT, aliases=_ALIASES)] = ()
    relations: Annotated[Any, _records(_MOST_RECORDS, head=_TEXT, relation=_TEXT, tail=_TEXT)] = ()
    attributes: Annotated[Any, _records(_MOST_RECORDS, entity=_TEXT, attribute=_TEXT, value=_TEXT)] = ()
    new_types: Annotated[
        Any,
        _records(
            _MOST_TYPES,
            kind={"type": "string", "enum": ["entity", "relation", "attribute"]},
            name=_TEXT,
            description=_TEXT,
            confidence={"type": "number"},
        ),
    ] = ()
    _read: Records = PrivateAttr(default_factory=Records)

    @property
    def records(self) -> Records:
        """What was read of the reply."""
        return self._read

    @model_validator(mode="wrap")
    @classmethod
    def _accept(cls, value: Any, _: Any) -> ChunkReply:
        if isinstance(value, cls):
            return value
        records = read_records(value)
        if records is None:
            raise ValueError('an object with the lists "entities", "attributes" and "relations" was wanted')
        n_malformed = len(records.malformed)
        if n_malformed > _MOST_MALFORMED * (n_malformed + len(records)):
            shown, reason = records.malformed[0]
            raise ValueError(f"{n_malformed} records are malformed, the first {shown}: {reason}")
        reply = cls.model_construct()
        reply._read = records
        return reply


def sentence_reply(names: Sequence[str], relations: Sequence[str]) -> type[BaseModel]:
    """Return the form of a reply to one sentence: triples of given names and relations.

    Parameters
    ----------
    names
        What head and tail are chosen from, at least one.
    relations
        What the relation is chosen from; any text where it is empty.
    """
    end: Any = Literal[tuple(names)]
    link: Any = Literal[tuple(relations)] if relations else str
    triple = create_model("Triple", head=(end, ...), relation=(link, ...), tail=(end, ...))
    listed: Any = list[triple]  # type: ignore[valid-type]
    bound: Any = Field(default_factory=list, json_schema_extra={"maxItems": _MOST_TRIPLES})
    return create_model("SentenceReply", triples=(listed, bound))
