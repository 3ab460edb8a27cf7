"""What a language model would be sent, and about what that would cost; nothing is sent or changed."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ytrag_core.documents.model import Problem
from ytrag_core.errors import DocumentError
from ytrag_core.extraction.by_model import ModelExtractor
from ytrag_core.llm.budget import Prices
from ytrag_core.pipeline.cutting import cutter
from ytrag_core.pipeline.extractions import batches, model_hash, without_recorded
from ytrag_core.pipeline.reading import model_extractor, schema_origin
from ytrag_core.pipeline.records import chunk_row
from ytrag_core.pipeline.sources import distinct_documents, document_schema
from ytrag_core.storage.jobs import Jobs
from ytrag_core.storage.layout import META_NAME
from ytrag_core.storage.snapshot import SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ytrag_core.config import BuildSettings
    from ytrag_core.documents.model import Chunk
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.llm.chat import Completion, Message
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.storage.meta import MetaStore

__all__ = ["Estimate", "estimate_extraction"]


@dataclass(slots=True)
class Estimate:
    """What a build would ask of a language model.

    Attributes
    ----------
    documents, chunks
        What was read.
    to_send
        Passages that are to be sent.
    known
        Passages that were read before, or stand twice.
    failed_before
        Passages that a model failed on: only `--retry-failed` sends them again.
    offline
        Passages that rules read.
    prompt_tokens, completion_tokens
        Estimates; the prompts' rather too high than too low.
    community_tokens
        Tokens that naming communities may take at most, beside these.
    cost
        Of all of it, None where prices are not known.
    problems
        What could not be read.
    """

    documents: int = 0
    chunks: int = 0
    to_send: int = 0
    known: int = 0
    failed_before: int = 0
    offline: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    community_tokens: int = 0
    cost: float | None = None
    problems: tuple[Problem, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of `index --dry-run`."""
        cost = None if self.cost is None else round(self.cost, 6)
        return {"dry_run": True, **asdict(self), "cost": cost}


class _Counter:
    """Counts what is to be sent, each content once."""

    def __init__(self, meta: MetaStore, extractor: ModelExtractor, out: Estimate) -> None:
        self._meta = meta
        self._extractor = extractor
        self._out = out
        self._seen: set[str] = set()

    def count(self, chunks: Sequence[Chunk]) -> None:
        """Count some passages of one document."""
        rows = [chunk_row(position, chunk) for position, chunk in enumerate(chunks)]
        unrecorded = {row.id for row in without_recorded(self._meta, rows)}
        hashes = list(map(model_hash, rows))
        stored = self._meta.extractions(self._extractor.key, hashes)
        jobs = Jobs(self._meta.database).of(self._extractor.key, hashes)
        missing = []
        for chunk, key in zip(chunks, hashes, strict=True):
            if key in stored or key in self._seen or chunk.id not in unrecorded:
                self._out.known += 1
            elif key in jobs and jobs[key].status == "failed":
                self._out.failed_before += 1
            else:
                self._seen.add(key)
                missing.append(chunk)
        self._out.to_send += len(missing)
        for chunk, menu in zip(missing, self._extractor.menus(missing), strict=True):
            n_in, n_out, _ = self._extractor.cost(chunk, menu)
            self._out.prompt_tokens += n_in
            self._out.completion_tokens += n_out


class _Nobody:
    """Stands for a model that is not set: an estimate asks nobody."""

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        raise NotImplementedError


def estimate_extraction(
    root: Path,
    paths: Sequence[Path],
    encoder: Encoder,
    settings: BuildSettings,
    plan: ExtractionPlan,
    recorder: StageRecorder,
    schema: str | Path | None = None,
) -> Estimate:
    """Read and cut documents, and say what a language model would be sent.

    Parameters
    ----------
    root
        The knowledge base, which need not be there: what its models have read already is not sent again.
    paths, encoder, settings, schema
        As for a build.
    plan
        Who would read what; without a model, `auto` counts as one.
    recorder
        Told how far it is.

    Raises
    ------
    DocumentError
        A path does not exist.
    LockedError
        Another process is writing the knowledge base.
    """
    problems: list[Problem] = []
    estimate = Estimate()
    with tempfile.TemporaryDirectory() as nowhere:
        place = root if (root / META_NAME).is_file() else Path(nowhere) / "kb"
        with SnapshotWriter(place) as writer:
            in_force = document_schema(writer, schema)
            extractor = model_extractor(plan, in_force, encoder, schema_origin(writer, in_force))
            if extractor is None:
                extractor = ModelExtractor(_Nobody(), "", in_force, plan.settings, encode=encoder.encode)
            counter = _Counter(writer.meta, extractor, estimate)
            cut = cutter(encoder, settings, recorder)
            for document in distinct_documents(paths, root, problems):
                estimate.documents += 1
                is_offline = plan.extractor_of(document.id, document.source) == "offline"
                try:
                    for chunks in batches(cut(document)):
                        estimate.chunks += len(chunks)
                        if is_offline:
                            estimate.offline += len(chunks)
                        else:
                            counter.count(chunks)
                except DocumentError as error:  # a long text that changed while it was read
                    problems.append(Problem(document.source, str(error)))
                recorder.progress("read", estimate.documents, None)
    prices = Prices(plan.settings.price_in, plan.settings.price_out)
    if plan.names_communities and estimate.chunks:
        estimate.community_tokens = plan.settings.community_tokens
    if prices.are_known:
        # Of what naming takes, about half is written.
        half = estimate.community_tokens // 2
        estimate.cost = prices.cost(estimate.prompt_tokens + half, estimate.completion_tokens + half)
    estimate.problems = tuple(problems)
    return estimate
