"""Passages of many documents for a first look: evenly from all of them, the same ones every time."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from heapq import nsmallest
from typing import TYPE_CHECKING

from ytrag_core.documents.chunking import chunk_document
from ytrag_core.documents.model import Chunk, Document, LongDocument, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.segmentation import chinese_share
from ytrag_core.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer

    from ytrag_core.documents.model import Heading
    from ytrag_core.llm.language import Language
    from ytrag_core.pipeline.report import Progress

__all__ = ["Sample", "read_sample"]

_CHINESE = 0.3
_WINDOW = 100_000
_N_WINDOWS = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """Passages of some documents.

    Attributes
    ----------
    chunks
        The passages.
    n_documents
        How many documents there are.
    language
        `zh` where most of the passages are Chinese, else `en`.
    problems
        What could not be read.
    """

    chunks: tuple[Chunk, ...]
    n_documents: int
    language: Language
    problems: tuple[Problem, ...]


def read_sample(
    paths: Sequence[Path], tokenizer: Tokenizer, n_passages: int, max_tokens: int, progress: Progress
) -> Sample:
    """Read documents and keep some of their passages.

    Parameters
    ----------
    paths
        As for `read_documents`.
    tokenizer
        Counts tokens.
    n_passages
        Most passages to keep: first one of every document, then a second one, and so on. Which ones is
        decided by hashes of the passages, so a document that comes or goes changes no other's.
    max_tokens
        Longest passage.
    progress
        Told of each document.

    Raises
    ------
    DocumentError
        A path does not exist, or there is no text in any of them.
    """
    kept: list[tuple[int, str, Chunk]] = []
    problems: list[Problem] = []
    n_documents = 0
    for item in read_documents(paths):
        if isinstance(item, Problem):
            problems.append(item)
            continue
        n_documents += 1
        progress("read", n_documents, None)
        try:
            ranked = nsmallest(
                n_passages,
                (
                    (_rank(chunk), chunk)
                    for part in _windows(item)
                    for chunk in chunk_document(part, tokenizer, max_tokens=max_tokens)
                ),
                key=lambda pair: (pair[0], pair[1].id),
            )
        except DocumentError as error:
            problems.append(Problem(item.source, str(error)))
            continue
        kept += [(turn, rank, chunk) for turn, (rank, chunk) in enumerate(ranked)]
        if len(kept) > 8 * n_passages:
            kept = _first(kept, n_passages)
    chunks = tuple(chunk for _, _, chunk in _first(kept, n_passages))
    if not chunks:
        reasons = "".join(f"\n  {problem.source}: {problem.reason}" for problem in problems[:5])
        raise DocumentError(f"no text was found in {', '.join(map(str, paths))}; text is needed{reasons}")
    n_chinese = sum(chinese_share(chunk.text) >= _CHINESE for chunk in chunks)
    language: Language = "zh" if 2 * n_chinese > len(chunks) else "en"
    return Sample(chunks, n_documents, language, tuple(problems))


def _first(kept: list[tuple[int, str, Chunk]], n_passages: int) -> list[tuple[int, str, Chunk]]:
    return sorted(kept, key=lambda entry: (entry[0], entry[1], entry[2].id))[:n_passages]


def _rank(chunk: Chunk) -> str:
    return hashlib.sha256(f"{chunk.document_id}\0{chunk.text}".encode(errors="replace")).hexdigest()


def _windows(document: Document | LongDocument) -> Iterator[Document]:
    """Yield a document, or pieces from all over a long one, which is not cut as a whole."""
    size = document.n_characters
    if size <= _N_WINDOWS * _WINDOW:
        text = "".join(document.pieces())
        yield _part(document, text, document.headings)
        return
    starts = [row * (size - _WINDOW) // (_N_WINDOWS - 1) for row in range(_N_WINDOWS)]
    for text in _slices(document.pieces(), starts):
        yield _part(document, text)


def _part(document: Document | LongDocument, text: str, headings: tuple[Heading, ...] = ()) -> Document:
    identity = document.id, document.title, text, document.source
    return Document(*identity, document.metadata, document.has_record_id, headings)


def _slices(pieces: Iterable[str], starts: Sequence[int]) -> Iterator[str]:
    """Yield the windows of a text that begin at ascending offsets."""
    offset, held = 0, ""
    waiting = list(reversed(starts))
    for piece in pieces:
        held += piece
        while waiting and offset + len(held) >= waiting[-1] + _WINDOW:
            start = waiting.pop() - offset
            yield held[start : start + _WINDOW]
        passed = min(len(held), max(0, waiting[-1] - offset)) if waiting else len(held)
        offset, held = offset + passed, held[passed:]
