"""A language model reads a passage: asked, repaired, salvaged, held to what the passage names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from ytrag_core.extraction.bounds import proposals_of
from ytrag_core.extraction.chunk_style import ChunkStyle
from ytrag_core.extraction.grounding import grounded, used
from ytrag_core.extraction.menu import MenuMaker
from ytrag_core.extraction.model import EntityMention, Extraction
from ytrag_core.extraction.sentence_style import SentenceStyle
from ytrag_core.extraction.style import place_of
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.config import ExtractionSettings
    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.menu import Encode, Menu
    from ytrag_core.extraction.style import Style
    from ytrag_core.extraction.tolerant import Records
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.language import Language
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.schema.proposals import TypeProposal

__all__ = ["MODEL_EXTRACTOR", "ModelExtractor", "Reading", "Status"]

MODEL_EXTRACTOR = "llm"
"""What the keys of all extractions by a language model start with."""

_VERSION = 1
_NOTHING = Usage()
_TURN = 4
"""Tokens that a turn of a conversation takes beside its text."""

_REPLY_BASE, _REPLY_SHARE = 120, 1.3
"""A reply's length, as it usually is: so many tokens, and so many for each token of the passage."""

Status = Literal["done", "salvaged", "failed"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What came of asking a model about one passage.

    Attributes
    ----------
    status
        `done`; `salvaged` where a part of the reply was lost; `failed` where nothing could be used.
    extraction
        As the model said it, with its own types; None where it failed.
    reason
        Why it is not simply done; empty where it is.
    proposals
        Types that the schema lacks.
    usage
        What it cost.
    endpoint_failed
        True where the endpoint, not the reply, is to blame.
    """

    status: Status
    extraction: Extraction | None
    reason: str = ""
    proposals: tuple[TypeProposal, ...] = ()
    usage: Usage = _NOTHING
    endpoint_failed: bool = False


class ModelExtractor:
    """Extraction by a language model.

    Parameters
    ----------
    llm
        The model.
    model
        What it is called: extractions of different models are kept apart.
    schema
        The types in force; None lets the model name all types.
    settings
        Style and sizes.
    origin
        What of the schema the extractions are kept under: a schema that has only grown since keeps it, so
        that no passage is sent again for it. By default the schema's own version.
    encode
        Texts -> (n_texts, d) float32 unit-norm rows; chooses among the types of a large schema.
    prompts
        A folder of the user's own prompts.

    Attributes
    ----------
    key
        Under which its extractions are kept: the style, the prompts, the model and the schema's origin.
    """

    def __init__(
        self,
        llm: LanguageModel,
        model: str,
        schema: GraphSchema | None,
        settings: ExtractionSettings,
        *,
        origin: str | None = None,
        encode: Encode | None = None,
        prompts: Path | None = None,
    ) -> None:
        self._llm = llm
        self._schema = schema
        self._settings = settings
        self._is_proposing = settings.style == "chunk" and settings.unknown_types == "propose"
        self._menus = MenuMaker(schema, settings.max_types, encode)
        self._style: Style = (
            SentenceStyle(folder=prompts)
            if settings.style == "sentences"
            else ChunkStyle(proposing=self._is_proposing, folder=prompts)
        )
        if origin is None:
            origin = schema.version if schema is not None else ""
        languages: tuple[Language, ...] = ("en", "zh")
        texts = [prompt(name, language, prompts) for name in self._style.prompts for language in languages]
        said = json.dumps([_VERSION, settings.style, settings.unknown_types, texts, model, origin])
        self.key = f"{MODEL_EXTRACTOR}:{hashlib.sha256(said.encode()).hexdigest()[:24]}"

    def menus(self, chunks: Sequence[Chunk]) -> list[Menu]:
        """Return the types that each passage is offered; asks the encoder where there are many."""
        return self._menus.menus([f"{place_of(chunk)}\n{chunk.text}" for chunk in chunks])

    def cost(self, chunk: Chunk, menu: Menu) -> tuple[int, int, int]:
        """Return the tokens in, the tokens out as they usually are, and those out at most.

        All calls for the passage are counted, but not a second one to mend a reply.
        """
        calls = self._style.conversations(chunk, menu)
        texts = [message.content for messages in calls for message in messages]
        n_in = sum(map(estimate_tokens, texts)) + _TURN * len(texts)
        most = len(calls) * self._settings.max_reply_tokens
        usual = _REPLY_BASE * bool(calls) + int(_REPLY_SHARE * estimate_tokens(chunk.text))
        return n_in, min(usual, most), most

    def read(self, chunk: Chunk, menu: Menu, *, repair: bool = True) -> Reading:
        """Ask the model about a passage; nothing that it or its endpoint does is raised.

        Parameters
        ----------
        chunk
            The passage.
        menu
            The types offered, from `menus`.
        repair
            Ask a second time where the first reply cannot be used, or was cut.
        """
        heard = self._style.hear(self._llm, chunk, menu, self._settings.max_reply_tokens, repair=repair)
        records, complaint = heard.records, heard.complaint
        if records is None:
            return Reading(
                "failed", None, complaint, usage=heard.usage, endpoint_failed=heard.endpoint_failed
            )
        extraction = _extraction(chunk, records)
        lost = len(extraction.malformed)
        n_facts = len(extraction.triples) + len(extraction.attributes)
        if complaint and not n_facts:
            return Reading("failed", None, f"{complaint}; no fact could be read", usage=heard.usage)
        proposals = (
            proposals_of(chunk, extraction, records.new_types, self._schema) if self._is_proposing else []
        )
        if complaint:
            kept = f"facts kept: {n_facts}, records set aside: {lost}"
            return Reading("salvaged", extraction, f"{complaint}; {kept}", tuple(proposals), heard.usage)
        return Reading("done", extraction, "", tuple(proposals), heard.usage)


def _extraction(chunk: Chunk, records: Records) -> Extraction:
    """Return records as an extraction: each once, and none of things that the passage does not name."""
    passage = f"{place_of(chunk)}\n{chunk.text}".casefold()
    malformed = list(records.malformed)
    entities: dict[str, EntityMention] = {}
    for mention in records.entities:
        if not grounded(mention.name, passage) and not any(grounded(n, passage) for n in mention.aliases):
            malformed.append((mention.name, "an entity that the passage does not name"))
            continue
        # An alias that the passage does not use would join what has nothing to do with each other.
        mention = replace(mention, aliases=tuple(alias for alias in mention.aliases if used(alias, passage)))
        known = entities.get(mention.name)
        if known is not None:
            aliases = tuple(dict.fromkeys((*known.aliases, *mention.aliases)))
            mention = replace(known, type=known.type or mention.type, aliases=aliases)
        entities[mention.name] = mention
    triples: dict[tuple[str, str, str], None] = {}
    for triple in records.triples:
        if not (grounded(triple[0], passage) or grounded(triple[2], passage)):
            malformed.append((" | ".join(triple), "a relation of things that the passage does not name"))
        elif triple[0].casefold() == triple[2].casefold():
            malformed.append((" | ".join(triple), "a relation of a thing with itself"))
        else:
            triples[triple] = None
    attributes: dict[tuple[str, str, str], None] = {}
    for attribute in records.attributes:
        if grounded(attribute[0], passage) or attribute[0] in entities:
            attributes[attribute] = None
        else:
            malformed.append(
                (" | ".join(attribute), "an attribute of a thing that the passage does not name")
            )
    return Extraction(chunk.id, tuple(entities.values()), tuple(triples), tuple(attributes), tuple(malformed))
