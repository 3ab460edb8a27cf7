"""A model that says what a test has it say, and passages that it is asked to extract from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.config import ExtractionSettings
from ytrag_core.documents.model import Chunk
from ytrag_core.errors import LLMError
from ytrag_core.extraction.by_model import ModelExtractor, Reading
from ytrag_core.llm.chat import Completion, Message
from ytrag_core.schema.load import load_schema

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.schema.model import GraphSchema

TOWER = Chunk(
    "t",
    "d",
    "Salt Tower",
    "The Salt Tower was designed by Rufina Stell. Rufina Stell was born in Ismarra in 1742.",
    0,
    85,
)
ORGAN = Chunk("z", "d", "盐管风琴", "盐管风琴由托宾·阿克韦尔于1690年建造，立在宁布雷尔。", 0, 28)
BUILT = ("Rufina Stell", "built", "Salt Tower")
BORN = ("Rufina Stell", "born in", "Ismarra")
WHOLE = {
    "entities": [
        {"name": "Salt Tower", "type": "structure", "aliases": []},
        {"name": "Rufina Stell", "type": "person", "aliases": ["Stell"]},
    ],
    "attributes": [{"entity": "Rufina Stell", "attribute": "birth date", "value": "1742"}],
    "relations": [dict(zip(("head", "relation", "tail"), triple, strict=True)) for triple in (BUILT, BORN)],
    "new_types": [],
}


@dataclass
class Scripted:
    """Says one thing after the other, the last one for ever; an error is raised."""

    replies: list[str | Completion | LLMError]
    heard: list[list[Message]] = field(default_factory=list)
    schemas: list[Mapping[str, Any] | None] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        reply = self.replies[min(len(self.heard), len(self.replies) - 1)]
        self.heard.append(list(messages))
        self.schemas.append(schema)
        if isinstance(reply, LLMError):
            raise reply
        return reply if isinstance(reply, Completion) else Completion(reply, 100, 20, "stop")


def read(
    *replies: str | Completion | LLMError,
    chunk: Chunk = TOWER,
    schema: GraphSchema | None = None,
    repair: bool = True,
    **settings: Any,
) -> tuple[Reading, Scripted]:
    llm = Scripted(list(replies))
    chosen = schema or load_schema("general_zh" if chunk is ORGAN else "general")
    extractor = ModelExtractor(llm, "scripted", chosen, ExtractionSettings(**settings))
    return extractor.read(chunk, extractor.menus([chunk])[0], repair=repair), llm


def facts(reading: Reading) -> set[tuple[str, str, str]]:
    assert reading.extraction is not None, reading.reason
    return {*reading.extraction.triples, *reading.extraction.attributes}
