"""Evidence as numbered passages within a token budget."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.agent.linking import linking_path
from ytrag_core.agent.paths import fact_line, path_line
from ytrag_core.documents.sentences import split_sentences

if TYPE_CHECKING:
    from ytrag_core.retrieval.model import ChunkHit, Evidence

__all__ = ["Context", "build_context", "estimate_tokens"]

_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
_CHARACTERS_PER_TOKEN = 4
_FACTS_SHARE = 0.25
_N_PATHS = 3
_N_FACTS = 12
_LEAST_PIECE = 30


@dataclass(frozen=True, slots=True)
class Context:
    """What a model reads.

    Attributes
    ----------
    passages
        Numbered passages, one blank line between two; empty where there are none.
    facts
        One fact or chain of facts a line; empty where there are none.
    chunk_ids
        The passages' chunks: number n in the text is `chunk_ids[n - 1]`.
    """

    passages: str
    facts: str
    chunk_ids: tuple[str, ...]


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a model makes of a text: one a wide character, one per 4 others."""
    n_wide = len(_WIDE.findall(text))
    return n_wide + -(-(len(text) - n_wide) // _CHARACTERS_PER_TOKEN)


def build_context(evidence: Evidence, *, max_tokens: int) -> Context:
    """Return the best of the evidence that fits.

    Parameters
    ----------
    evidence
        What was retrieved, best first.
    max_tokens
        Budget, as `estimate_tokens` counts. Facts get at most a quarter of it where there are passages. A
        passage that does not fit is cut behind its last sentence that does, or left out.
    """
    share = _FACTS_SHARE if evidence.chunks else 1.0
    facts = _facts(evidence, int(max_tokens * share))
    left = max_tokens - estimate_tokens(facts)
    blocks: list[str] = []
    chunk_ids: list[str] = []
    for chunk in evidence.chunks:
        block = _block(chunk, len(blocks) + 1, left)
        if block:
            blocks.append(block)
            chunk_ids.append(chunk.id)
            left -= estimate_tokens(block) + 1
    return Context("\n\n".join(blocks), facts, tuple(chunk_ids))


def _facts(evidence: Evidence, max_tokens: int) -> str:
    chains = [linking_path(evidence), *(path.triples for path in evidence.paths)] if evidence.paths else []
    lines = dict.fromkeys(
        [path_line(triples) for triples in chains[:_N_PATHS]]
        + [fact_line(triple) for triple in evidence.triples[:_N_FACTS]]
    )
    kept: list[str] = []
    left = max_tokens
    for line in lines:
        left -= estimate_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def _block(chunk: ChunkHit, number: int, max_tokens: int) -> str:
    head = f"[{number}] {' '.join(chunk.title.split())}".rstrip()
    text = chunk.text.strip()
    left = max_tokens - estimate_tokens(head) - 1
    if estimate_tokens(text) > left:
        if left < _LEAST_PIECE:
            return ""
        ends = [end for _, end in split_sentences(text) if estimate_tokens(text[:end]) <= left]
        text = text[: ends[-1]] if ends else ""
    return f"{head}\n{text}" if text else ""
