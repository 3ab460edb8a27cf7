"""Which stored extraction counts for a passage: recorded, by the model that its document has, or by rules."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from ytrag_core.documents.model import Chunk
from ytrag_core.extraction.bounds import bounded
from ytrag_core.extraction.by_model import MODEL_EXTRACTOR
from ytrag_core.extraction.codec import extraction_from_json, extraction_to_json
from ytrag_core.extraction.offline import EXTRACTOR_VERSION, extract_offline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ytrag_core.extraction.model import Extraction
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.storage.meta import ChunkRow, MetaStore

__all__ = [
    "OFFLINE",
    "RECORDED",
    "ContentHash",
    "StoredExtractions",
    "batches",
    "chunk_of",
    "content_hash",
    "extract_missing",
    "is_model_key",
    "model_hash",
    "recorded_key",
    "without_recorded",
]

RECORDED = "recorded"
OFFLINE = EXTRACTOR_VERSION
_BATCH = 256
_PIECE = 1 << 20

T = TypeVar("T")


class ContentHash:
    """A SHA-256 of texts such that no two lists of texts share one."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, text: str) -> None:
        """Add a text."""
        # It may have megabytes, so that it is encoded piece by piece.
        pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        self.add_pieces(sum(len(piece.encode()) for piece in pieces), pieces)

    def add_pieces(self, n_bytes: int, pieces: Iterable[str]) -> None:
        """Add a text that comes in pieces and has so many bytes in UTF-8."""
        self._digest.update(n_bytes.to_bytes(8, "little"))
        for piece in pieces:
            self._digest.update(piece.encode())

    def hexdigest(self) -> str:
        """Return the hash, in hexadecimal."""
        return self._digest.hexdigest()


def content_hash(*parts: str) -> str:
    """Return the `ContentHash` of texts."""
    content = ContentHash()
    for part in parts:
        content.add(part)
    return content.hexdigest()


def recorded_key(chunk_id: str, title: str, text: str) -> str:
    """Return the key of a recorded extraction."""
    return content_hash(RECORDED, chunk_id, title, text)


def model_hash(row: ChunkRow) -> str:
    """Return the key of an extraction by a model: of all of a passage that a prompt shows."""
    return content_hash(row.sha256, row.heading) if row.heading else row.sha256


def is_model_key(extractor: str) -> bool:
    """Return whether an extractor's key is that of a language model."""
    return extractor.startswith(f"{MODEL_EXTRACTOR}:")


def chunk_of(row: ChunkRow) -> Chunk:
    """Return a stored passage as extractors take it."""
    place = (row.start, row.end, row.page, row.heading)
    return Chunk(row.id, row.document_id, row.title, row.text, *place)


def batches(rows: Iterable[T], size: int = _BATCH) -> Iterator[list[T]]:
    """Yield lists of at most `size` rows."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


class StoredExtractions:
    """The extractions of a knowledge base.

    Parameters
    ----------
    meta
        The open store.
    choices
        Document id -> key of its extractor; rules read the documents that are absent.
    schema
        The types in force.
    unknown
        What becomes of types that the schema lacks, where a model named them.
    fallback
        What a passage has that the model of its document has not read: what rules find, or nothing.
    """

    def __init__(
        self,
        meta: MetaStore,
        choices: Mapping[str, str],
        schema: GraphSchema | None = None,
        unknown: Literal["propose", "drop"] = "propose",
        fallback: Literal["offline", "none"] = "offline",
    ) -> None:
        self._meta = meta
        self._choices = choices
        self._schema = schema
        self._unknown: Literal["propose", "drop"] = unknown
        self._fallback: Literal["offline", "none"] = fallback

    def of(self, batch: Sequence[ChunkRow]) -> list[Extraction | None]:
        """Return what counts for each passage; None where nothing is stored."""
        keys = [recorded_key(row.id, row.title, row.text) for row in batch]
        recorded = self._meta.extractions(RECORDED, keys)
        by_model = self._by_model(batch)
        by_rules = self._meta.extractions(
            OFFLINE, [row.sha256 for row in batch if row.id not in by_model and self._may_fall_back(row)]
        )
        found: list[Extraction | None] = []
        for row, key in zip(batch, keys, strict=True):
            payload = recorded.get(key)
            if payload is None and row.id in by_model:
                extraction = extraction_from_json(row.id, by_model[row.id])
                found.append(bounded(extraction, self._schema, self._unknown))
                continue
            if payload is None and self._may_fall_back(row):
                payload = by_rules.get(row.sha256)
            found.append(None if payload is None else extraction_from_json(row.id, payload))
        return found

    def lacking(self, batch: Sequence[ChunkRow]) -> list[ChunkRow]:
        """Return the passages that rules have to read, because nothing else counts for them."""
        return [
            row
            for row, extraction in zip(batch, self.of(batch), strict=True)
            if extraction is None and self._may_fall_back(row)
        ]

    def _may_fall_back(self, row: ChunkRow) -> bool:
        return self._fallback == "offline" or not is_model_key(self._choices.get(row.document_id, OFFLINE))

    def _by_model(self, batch: Sequence[ChunkRow]) -> dict[str, dict[str, Any]]:
        """Return chunk id -> payload of those that the model of their document has read."""
        rows_of: dict[str, list[ChunkRow]] = defaultdict(list)
        for row in batch:
            extractor = self._choices.get(row.document_id, OFFLINE)
            if is_model_key(extractor):
                rows_of[extractor].append(row)
        found: dict[str, dict[str, Any]] = {}
        for extractor, rows in rows_of.items():
            stored = self._meta.extractions(extractor, map(model_hash, rows))
            found |= {row.id: stored[model_hash(row)] for row in rows if model_hash(row) in stored}
        return found


def without_recorded(meta: MetaStore, batch: Sequence[ChunkRow]) -> list[ChunkRow]:
    """Return the passages for which no extraction was recorded, which would count before any other."""
    keys = [recorded_key(row.id, row.title, row.text) for row in batch]
    recorded = meta.extractions(RECORDED, keys)
    return [row for row, key in zip(batch, keys, strict=True) if key not in recorded]


def extract_missing(meta: MetaStore, stored: StoredExtractions, recorder: StageRecorder) -> int:
    """Let rules read the passages for which nothing is stored; each batch is kept at once. Returns how many.

    Parameters
    ----------
    meta
        The open store.
    stored
        What is there.
    recorder
        Told how far it is.
    """
    done = n_extracted = 0
    for batch in batches(meta.chunks()):
        missing = stored.lacking(batch)
        if missing:
            meta.put_extractions(
                OFFLINE,
                [(row.sha256, extraction_to_json(extract_offline(chunk_of(row)))) for row in missing],
            )
            n_extracted += len(missing)
        done += len(batch)
        recorder.progress("extract", done, None)
    return n_extracted
