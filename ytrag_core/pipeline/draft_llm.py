"""A schema drafted by a language model: passages by the handful, then one schema of all that was proposed."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from ytrag_core.documents.model import Problem
from ytrag_core.errors import LLMError
from ytrag_core.extraction.style import Listener
from ytrag_core.llm.chat import Message
from ytrag_core.llm.structured import ask_for
from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.draft import DraftReport, told
from ytrag_core.pipeline.schema_in_force import type_judge
from ytrag_core.schema.draft import Found, draft_schema, group_found
from ytrag_core.schema.model import TYPE_KINDS, TypeKind, type_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.documents.model import Chunk
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.llm.stages import StageModels
    from ytrag_core.pipeline.draft_sample import Sample
    from ytrag_core.pipeline.report import Progress

__all__ = ["SchemaReply", "draft_with_llm"]

_A_CALL = 6
_AT_ONCE = 4
_MAX_TOKENS = 4000
_LONGEST_NAME = 60
_A_HANDFUL: dict[TypeKind, int] = {"entity": 10, "relation": 14, "attribute": 8}
"""Most types that one call is asked for."""
_ANY = 4
"""An end that may be of all types of a schema with so many is of any type."""


def _few(most: int) -> Any:
    """Return a list that a model is asked to keep short; a longer one is taken all the same."""
    return Field(default_factory=list, json_schema_extra={"maxItems": most})


class _Entity(BaseModel):
    name: str
    description: str = ""
    examples: list[str] = _few(3)


class _Relation(BaseModel):
    name: str
    description: str = ""
    head: list[str] = _few(6)
    tail: list[str] = _few(6)


class _Attribute(BaseModel):
    name: str
    description: str = ""
    of: list[str] = _few(6)


class SchemaReply(BaseModel):
    """What a model is asked for.

    Attributes
    ----------
    entity_types, relation_types, attribute_types
        Types with descriptions; `head`, `tail` and `of` name entity types.
    """

    model_config = ConfigDict(extra="ignore")

    entity_types: list[_Entity] = _few(24)
    relation_types: list[_Relation] = _few(40)
    attribute_types: list[_Attribute] = _few(20)


class _HandfulReply(SchemaReply):
    """The same of a few passages: they need fewer types, and small models write as many as they may."""

    entity_types: list[_Entity] = _few(_A_HANDFUL["entity"])
    relation_types: list[_Relation] = _few(_A_HANDFUL["relation"])
    attribute_types: list[_Attribute] = _few(_A_HANDFUL["attribute"])


def draft_with_llm(
    sample: Sample,
    encoder: Encoder,
    models: StageModels,
    name: str,
    most: Mapping[TypeKind, int],
    progress: Progress,
) -> DraftReport:
    """Draft a schema from a sample with a language model.

    Parameters
    ----------
    sample
        The passages; six go into one call.
    encoder
        Tells names of types apart.
    models
        The language models; the one for extraction is asked.
    name
        What the schema is called.
    most
        How many types of each kind it may have.
    progress
        Told of each call.

    Raises
    ------
    LLMError
        When the endpoint fails, or not one reply can be used.
    """
    limits = {"entities": most["entity"], "relations": most["relation"], "attributes": most["attribute"]}
    batches = [sample.chunks[start : start + _A_CALL] for start in range(0, len(sample.chunks), _A_CALL)]
    replies, problems, usage = _read_all(batches, _asked(sample, models, most), models, progress)
    if not replies:
        reason = problems[0].reason if problems else "no passage was sent"
        raise LLMError(
            f"no reply could be made a schema of: {reason}; try another model, or draft without one"
        )
    judge = type_judge(encoder)
    found: dict[TypeKind, list[Found]] = {
        kind: group_found(types, judge, None) for kind, types in _found(replies).items()
    }
    if len(replies) > 1:
        listing = _listing(found)
        system = models.prompt("schema_merge", sample.language).format(**limits)
        merged = ask_for(
            models.model("extract"),
            [Message("system", system), Message("user", listing)],
            SchemaReply,
            max_tokens=_MAX_TOKENS,
        )
        usage += merged.usage
        if merged.value is not None and merged.value.entity_types and not merged.cut:
            found = _with_support(_found([merged.value]), found)
        else:
            problems.append(Problem("the merged schema", "; ".join(merged.complaints) or "no types"))
    draft = draft_schema(
        found,
        name=name,
        language=sample.language,
        description=told(sample),
        most=most,
        least=1,
    )
    return DraftReport(
        draft, sample.n_documents, len(sample.chunks), "llm", (*sample.problems, *problems), usage
    )


def _asked(sample: Sample, models: StageModels, most: Mapping[TypeKind, int]) -> list[Message]:
    """Return what every handful is asked: the task, and an example as turns."""
    few = {kind: min(most[kind], _A_HANDFUL[kind]) for kind in TYPE_KINDS}
    limits = {"entities": few["entity"], "relations": few["relation"], "attributes": few["attribute"]}
    return [
        Message("system", models.prompt("schema_draft", sample.language).format(**limits)),
        Message("user", models.prompt("schema_draft_example", sample.language).format()),
        Message("assistant", models.prompt("schema_draft_example_reply", sample.language).format()),
    ]


def _read_all(
    batches: Sequence[Sequence[Chunk]], asked: Sequence[Message], models: StageModels, progress: Progress
) -> tuple[list[SchemaReply], list[Problem], Usage]:
    """Ask for the types of each handful, a few calls side by side; replies keep the order of the handfuls."""
    model = models.model("extract")
    mutex, done = threading.Lock(), Counter[str]()

    def ask(batch: Sequence[Chunk]) -> tuple[SchemaReply | None, tuple[str, ...], Usage]:
        passages = "\n\n".join(f"[{row}] {chunk.title}\n{chunk.text}" for row, chunk in enumerate(batch, 1))
        # Of a reply that was cut, what came counts: asked for again it would be as long.
        said = ask_for(
            Listener(model), [*asked, Message("user", passages)], _HandfulReply, max_tokens=_MAX_TOKENS
        )
        with mutex:
            done["calls"] += 1
            progress("ask for types", done["calls"], len(batches))
        value = _of_passages(said.value, batch) if said.value is not None else None
        return value, said.complaints, said.usage

    replies, problems, usage = [], [], Usage()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for batch, (value, complaints, cost) in zip(batches, pool.map(ask, batches), strict=True):
            usage += cost
            if value is not None and (value.entity_types or value.relation_types):
                replies.append(value)
            else:
                problems.append(Problem(batch[0].id, "; ".join(complaints) or "the reply names no types"))
    return replies, problems, usage


def _of_passages(reply: SchemaReply, batch: Sequence[Chunk]) -> SchemaReply:
    """Return a reply with the examples that the passages name, without types that have none but others'.

    Small models give titles, or what the prompt's own example says. Where no type is left, all count.
    """
    text = " ".join(" ".join(chunk.text.split()) for chunk in batch).casefold()
    shown = [
        part.model_copy(update={"examples": [each for each in part.examples if _in(each, text)]})
        for part in reply.entity_types
    ]
    seen = [
        now for now, said in zip(shown, reply.entity_types, strict=True) if now.examples or not said.examples
    ]
    return reply.model_copy(update={"entity_types": seen or shown})


def _in(name: str, text: str) -> bool:
    folded = " ".join(name.casefold().split())
    return bool(folded) and folded in text


def _narrow(ends: Sequence[str], reply: SchemaReply) -> list[str]:
    """Return the types at an end; none, for any, where all of many are listed."""
    every = {type_key(part.name) for part in reply.entity_types}
    is_any = len(every) >= _ANY and every <= {type_key(end) for end in ends}
    return [] if is_any else list(ends)


def _found(replies: Sequence[SchemaReply]) -> dict[TypeKind, list[Found]]:
    """Return the types of replies, each counted once a reply."""
    rows: dict[tuple[TypeKind, str], Found] = {}
    for reply in replies:
        seen: set[tuple[TypeKind, str]] = set()
        for kind, part in _parts(reply):
            name = " ".join(part.name.replace("_", " ").split())
            key = (kind, type_key(name))
            if not name or len(name) > _LONGEST_NAME or key in seen:
                continue
            seen.add(key)
            row = rows.setdefault(key, Found(kind, name, " ".join(part.description.split())))
            row.count += 1
            if isinstance(part, _Entity):
                row.examples.update(" ".join(text.split()) for text in part.examples if text.strip())
            elif isinstance(part, _Relation):
                row.heads.update(_narrow(part.head, reply))
                row.tails.update(_narrow(part.tail, reply))
            else:
                row.heads.update(_narrow(part.of, reply))
    return {kind: [row for (its, _), row in rows.items() if its == kind] for kind in TYPE_KINDS}


def _parts(reply: SchemaReply) -> list[tuple[TypeKind, _Entity | _Relation | _Attribute]]:
    return [
        *(("entity", part) for part in reply.entity_types),
        *(("relation", part) for part in reply.relation_types),
        *(("attribute", part) for part in reply.attribute_types),
    ]


def _listing(found: Mapping[TypeKind, Sequence[Found]]) -> str:
    """Return the proposed types as lines, the most frequent first."""
    lines = []
    for kind, types in found.items():
        lines.append(f"{kind}:")
        for one in types:
            ends = ""
            if kind == "relation":
                ends = f" [{', '.join(one.heads)} -> {', '.join(one.tails)}]"
            elif kind == "attribute":
                ends = f" [{', '.join(one.heads)}]"
            examples = f" ({'; '.join(list(one.examples)[:3])})" if one.examples else ""
            lines.append(f"- {one.name}{ends} x{one.count}: {one.description}{examples}")
    return "\n".join(lines)


def _with_support(
    merged: dict[TypeKind, list[Found]], proposed: Mapping[TypeKind, Sequence[Found]]
) -> dict[TypeKind, list[Found]]:
    """Return the merged types, counted by how many readers proposed them, most frequent first."""
    for kind, types in merged.items():
        known = {type_key(one.name): one for one in proposed[kind]}
        for one in types:
            earlier = known.get(type_key(one.name))
            if earlier is not None:
                one.count = earlier.count
                one.description = one.description or earlier.description
                one.examples = one.examples or earlier.examples
        types.sort(key=lambda one: (-one.count, one.name))
    return merged
