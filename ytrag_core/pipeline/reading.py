"""Passages to extractions: the model reads what it is to read, rules read the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.extraction.by_model import ModelExtractor
from ytrag_core.pipeline.extractions import OFFLINE, StoredExtractions, extract_missing, is_model_key
from ytrag_core.pipeline.model_run import STAGE, ModelRun
from ytrag_core.pipeline.settings import keep_extraction, lasting_extraction
from ytrag_core.storage.choices import Choices
from ytrag_core.storage.schema_store import SchemaStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.model_run import RunTally
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.storage.snapshot import SnapshotWriter

__all__ = ["choices_of", "model_extractor", "read_passages", "schema_origin", "stored_extractions"]


def choices_of(writer: SnapshotWriter) -> Choices:
    """Return which extractor counts for each document, in the snapshot that is built."""
    return Choices(writer.meta.database, 1 if writer.previous is None else writer.previous.number + 1)


def stored_extractions(
    writer: SnapshotWriter, schema: GraphSchema | None, plan: ExtractionPlan | None = None
) -> StoredExtractions:
    """Return the extractions that count; without a plan, in a build that chooses no extractor."""
    choices = choices_of(writer)
    if plan is None:
        choices.forget_unfinished()
    settings = lasting_extraction(writer.meta) if plan is None else plan.settings
    return StoredExtractions(writer.meta, choices.all(), schema, settings.unknown_types, settings.fallback)


def model_extractor(
    plan: ExtractionPlan, schema: GraphSchema | None, encoder: Encoder, origin: str | None = None
) -> ModelExtractor | None:
    """Return the language model as an extractor, None where the plan has none.

    Parameters
    ----------
    plan
        How to extract.
    schema
        The types in force.
    encoder
        Chooses among the types of a large schema.
    origin
        See `ModelExtractor`.
    """
    if plan.models is None:
        return None
    model = plan.models.model("extract")
    return ModelExtractor(
        model,
        model.identity.partition(" at ")[0],
        schema,
        plan.settings,
        origin=origin,
        encode=encoder.encode,
        prompts=plan.models.prompts,
    )


def read_passages(
    writer: SnapshotWriter,
    plan: ExtractionPlan,
    schema: GraphSchema | None,
    encoder: Encoder,
    documents: Mapping[str, str],
    recorder: StageRecorder,
    *,
    proposing: bool = True,
) -> RunTally | None:
    """Extract from the passages of the whole knowledge base whatever is still to be extracted.

    Parameters
    ----------
    writer
        The open writer.
    plan
        Who reads what.
    schema
        The types in force.
    encoder
        Chooses among the types of a large schema.
    documents
        Id -> source of the documents that this build was given; the others keep the extractor that they have.
    recorder
        Times the stages.
    proposing
        Whether types that the schema lacks are proposed.

    Returns
    -------
    RunTally or None
        What the language model was asked; None where none was to be.
    """
    extractor = model_extractor(plan, schema, encoder, schema_origin(writer, schema))
    by_model = _choose(writer, plan, extractor, documents)
    if by_model:
        keep_extraction(writer.meta, plan.settings)
    tally = None
    if extractor is not None and (by_model or plan.retry_failed):
        with recorder.stage(STAGE) as stage:
            run = ModelRun(writer.meta, extractor, plan.settings, recorder, proposing=proposing)
            tally = run.run(by_model, retry_failed=plan.retry_failed)
            stage.items = tally.sent
    with recorder.stage("extract") as stage:
        stage.items = extract_missing(writer.meta, stored_extractions(writer, schema, plan), recorder)
    return tally


def schema_origin(writer: SnapshotWriter, schema: GraphSchema | None) -> str | None:
    """Return the version of the schema that this one has grown out of: its own where it has not grown."""
    if schema is None:
        return None
    seed = schema.version
    for change in SchemaStore(writer.meta.database).changes():
        if change.action == "seed":
            seed = change.version
        if change.version == schema.version:
            return seed
    return schema.version


def _choose(
    writer: SnapshotWriter,
    plan: ExtractionPlan,
    extractor: ModelExtractor | None,
    documents: Mapping[str, str],
) -> set[str]:
    """Write down who reads each document; return those that the model is to read now."""
    choices = choices_of(writer)
    choices.forget_unfinished()
    former = choices.all()
    if plan.retry_failed and not documents:
        return {each for each, key in former.items() if extractor is not None and key == extractor.key}
    changed: dict[str, str] = {}
    by_model: set[str] = set()
    for document_id, source in documents.items():
        name = plan.extractor_of(document_id, source)
        before = former.get(document_id, OFFLINE)
        if extractor is not None and name != "offline":
            key = extractor.key
            by_model.add(document_id)
        else:
            key = before if name == "auto" and is_model_key(before) else OFFLINE
        if key != before:
            changed[document_id] = key
    choices.put(changed)
    return by_model
