"""The three ways in: documents, recorded extractions, and a graph that someone already has."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.documents.chunking import whole_chunk
from ytrag_core.documents.model import Document, LongDocument, Problem
from ytrag_core.documents.read import read_documents
from ytrag_core.documents.text import path_name
from ytrag_core.errors import ConfigError, DocumentError, SnapshotError
from ytrag_core.extraction.recorded import read_openie
from ytrag_core.graph.edges import read_edges
from ytrag_core.graph.tables import CHUNKS, DOCUMENTS
from ytrag_core.pipeline.build import Content, build_snapshot
from ytrag_core.pipeline.cutting import WHOLE, cut_label, cutter, recut_stored
from ytrag_core.pipeline.notes import Scripts
from ytrag_core.pipeline.plan import ExtractionPlan
from ytrag_core.pipeline.reading import read_passages, stored_extractions
from ytrag_core.pipeline.records import (
    known_sources,
    store_documents,
    store_recorded,
    stored_content,
)
from ytrag_core.pipeline.resolving import make_resolver
from ytrag_core.pipeline.schema_in_force import schema_for_build, settle_schema
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.pipeline.vector_cache import VectorCache
from ytrag_core.pipeline.vectors import TextEncoder
from ytrag_core.storage.advice import repair_advice
from ytrag_core.storage.layout import live_name
from ytrag_core.storage.snapshot import SnapshotWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from ytrag_core.config import BuildSettings
    from ytrag_core.documents.model import Chunk
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.model_run import RunTally
    from ytrag_core.pipeline.report import BuildReport, RunningStage, StageRecorder
    from ytrag_core.schema.model import GraphSchema
    from ytrag_core.storage.entity_rules import EntityRule

__all__ = [
    "build_from_documents",
    "build_from_edges",
    "build_from_openie",
    "distinct_documents",
    "document_schema",
    "folder_hash",
    "rebuild_documents",
]

_DEFAULT_SCHEMA = "general"


def build_from_documents(
    root: Path,
    paths: Sequence[Path],
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    schema: str | Path | None = None,
    reuse_vectors: Path | None = None,
    plan: ExtractionPlan | None = None,
    *,
    propose: bool = False,
) -> BuildReport:
    """Add documents to a knowledge base; unchanged ones cost nothing, changed ones are replaced.

    With `propose`, whoever watches a first build is told where the texts are in a language for another
    encoder: the one that works was not named.

    Raises
    ------
    DocumentError
        A path does not exist, or there is not one readable document in the whole knowledge base.
    ConfigError
        The knowledge base holds an imported graph, or it or that of `reuse_vectors` is of another encoder.
    """
    plan = plan or ExtractionPlan()
    problems: list[Problem] = []
    read: dict[str, str] = {}
    with SnapshotWriter(root) as writer:
        _refuse_other(writer, "documents")
        cache = VectorCache(writer, encoder, reuse_vectors)
        graph_schema = document_schema(writer, schema)
        cut = cutter(encoder, settings, recorder)
        with recorder.stage("read") as stage:
            scripts = Scripts(encoder.description)
            found = scripts.watch(distinct_documents(paths, root, problems))
            store_documents(
                writer.meta,
                _counted(found, stage, recorder, read),
                cut_label(settings),
                cut,
                problems,
            )
            if propose and writer.previous is None:
                recorder.tell("read", scripts.told())
            notes = recut_stored(writer, settings, cut, problems)
        proposing = settings.evolution.mode != "off"
        tally = read_passages(writer, plan, graph_schema, encoder, read, recorder, proposing=proposing)
        if tally is not None:
            problems += tally.problems
            plan = plan.after(tally.usage)
        graph_schema, told = settle_schema(writer, graph_schema, schema, encoder, settings.evolution)
        stored = stored_extractions(writer, graph_schema, plan)
        text_encoder = TextEncoder(encoder, cache)
        resolver = make_resolver(writer, text_encoder, encoder, settings, recorder)
        content = stored_content(
            writer, paths, "documents", problems, graph_schema, recorder, resolver, stored
        )
        report = build_snapshot(writer, content, encoder, settings, recorder, cache, text_encoder, plan)
    report = replace(report, notes=(*report.notes, *notes, *told))
    return report if tally is None else _with_tally(report, tally, root)


def build_from_openie(
    root: Path,
    folder: Path,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    schema: str | Path | None = None,
    reuse_vectors: Path | None = None,
    plan: ExtractionPlan | None = None,
) -> BuildReport:
    """Add passages with recorded triples to a knowledge base; chunk ids are the passage ids.

    Raises
    ------
    DocumentError
        The folder is not of the form that `import openie` takes, or holds no usable passage.
    ConfigError
        The knowledge base holds an imported graph, or it or that of `reuse_vectors` is of another encoder.
    """
    with SnapshotWriter(root) as writer:
        _refuse_other(writer, "documents")
        cache = VectorCache(writer, encoder, reuse_vectors)
        graph_schema = schema_for_build(writer, schema)
        with recorder.stage("read") as stage:
            stage.items, problems = _store_openie(writer, folder)
        graph_schema, notes = settle_schema(writer, graph_schema, schema, encoder, settings.evolution)
        stored = stored_extractions(writer, graph_schema)
        text_encoder = TextEncoder(encoder, cache)
        resolver = make_resolver(writer, text_encoder, encoder, settings, recorder)
        content = stored_content(
            writer, [folder], "openie", problems, graph_schema, recorder, resolver, stored
        )
        report = build_snapshot(writer, content, encoder, settings, recorder, cache, text_encoder, plan)
    return replace(report, notes=(*report.notes, *notes))


def rebuild_documents(
    root: Path,
    encoder: Encoder,
    recorder: StageRecorder,
    rules: Sequence[EntityRule] = (),
    settings: BuildSettings | None = None,
) -> BuildReport:
    """Build the next snapshot of the documents that are stored.

    Nothing is read or extracted again.

    Parameters
    ----------
    root
        The knowledge base's directory.
    encoder
        That of the knowledge base.
    recorder
        Times the stages.
    rules
        What was decided about entities now; it holds from this build on.
    settings
        Those of the live snapshot by default; the sizes of passages have no effect here.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged or cannot be written.
    ConfigError
        It holds an imported graph, or is of another encoder.
    """
    live_name(root)
    with SnapshotWriter(root) as writer:
        if writer.previous is None:
            raise SnapshotError(f"{root} has no finished snapshot to build again: build one first")
        _refuse_other(writer, "documents")
        settings = settings or settings_of(writer.previous)
        cache = VectorCache(writer, encoder)
        graph_schema = schema_for_build(writer, None)
        text_encoder = TextEncoder(encoder, cache)
        resolver = make_resolver(writer, text_encoder, encoder, settings, recorder, rules)
        stored = stored_extractions(writer, graph_schema)
        content = stored_content(writer, [], "documents", [], graph_schema, recorder, resolver, stored)
        return build_snapshot(writer, content, encoder, settings, recorder, cache, text_encoder)


def _store_openie(writer: SnapshotWriter, folder: Path) -> tuple[int, list[Problem]]:
    """Store passages and their triples; return how many passages there are, and let go of them."""
    source = read_openie(folder)
    problems = list(source.problems)
    store_documents(writer.meta, source.documents, WHOLE, _uncut, problems)
    store_recorded(writer.meta, source)
    return len(source.documents), problems


def _uncut(document: Document | LongDocument) -> list[Chunk]:
    if isinstance(document, LongDocument):
        raise DocumentError("a passage that someone else cut is held as a whole")
    return [whole_chunk(document)]


def build_from_edges(
    root: Path,
    folder: Path,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    *,
    replace: bool = False,
    reuse_vectors: Path | None = None,
    plan: ExtractionPlan | None = None,
) -> BuildReport:
    """Import a graph of nodes and edges.

    Raises
    ------
    GraphFormatError
        The files are not of the form that `import edges` takes.
    ConfigError
        The knowledge base holds documents, or another graph and `replace` is False; or it or that of
        `reuse_vectors` is of another encoder.
    """
    with SnapshotWriter(root) as writer:
        _refuse_other(writer, "edges")
        cache = VectorCache(writer, encoder, reuse_vectors)
        with recorder.stage("read") as stage:
            source = read_edges(folder)
            stage.items = source.graph.n_triples
            origin = {"format": "edges", "path": path_name(folder), "sha256": folder_hash(folder)}
        if writer.previous is not None and not replace:
            before = known_sources(writer.previous)
            if [entry.get("sha256") for entry in before] != [origin["sha256"]]:
                held = ", ".join(repr(entry.get("path")) for entry in before)
                raise ConfigError(
                    f"{root} holds another graph, from {held}; import into a new directory, "
                    "or replace it with --replace"
                )
        content = Content(
            source.graph, DOCUMENTS.empty_table(), CHUNKS.empty_table(), [origin], source.problems
        )
        return build_snapshot(writer, content, encoder, settings, recorder, cache, plan=plan)


def _with_tally(report: BuildReport, tally: RunTally, root: Path) -> BuildReport:
    """Add what a language model was asked to a report, and what is left to do."""
    notes = list(report.notes)
    if tally.stopped:
        notes.append(
            f"the language model was stopped: {tally.stopped}; {tally.pending:,} passages are left, run the "
            "same command again to go on"
        )
    n_failed = tally.failed + tally.failed_before
    if n_failed:
        notes.append(
            f"{n_failed:,} passages could not be read by the language model: `ytrag jobs --kb {root}` lists "
            f"them, and `ytrag index --retry-failed --kb {root}` tries them again"
        )
    return replace(
        report, notes=tuple(notes), language_model={**tally.to_json(), **(report.language_model or {})}
    )


def _refuse_other(writer: SnapshotWriter, wanted: str) -> None:
    """Refuse to mix documents with a graph whose identities are its own, and a store that lost documents."""
    root, previous = writer.root, writer.previous
    if previous is None:
        return
    n_documents, n_stored = previous.manifest.counts.get("documents", 0), writer.meta.n_documents()
    if n_stored != n_documents:
        raise SnapshotError(
            f"the store of {root} holds {n_stored} documents, but its snapshot has {n_documents}: "
            f"meta.sqlite was emptied or replaced; {repair_advice(root)}"
        )
    held = (
        "edges" if any(entry.get("format") == "edges" for entry in known_sources(previous)) else "documents"
    )
    if held != wanted:
        raise ConfigError(
            f"{root} holds {'an imported graph' if held == 'edges' else 'documents'}, and "
            f"{'documents' if wanted == 'documents' else 'a graph'} arrived; use a directory of its own"
        )


def distinct_documents(
    paths: Sequence[Path], root: Path, out_problems: list[Problem]
) -> Iterator[Document | LongDocument]:
    """Yield the documents of some paths, each id once, without the knowledge base's own directory.

    Raises
    ------
    DocumentError
        A path does not exist.
    """
    seen: set[str] = set()
    for item in read_documents(paths, skip=root):
        if isinstance(item, Problem):
            out_problems.append(item)
        elif item.id in seen:
            out_problems.append(
                Problem(item.source, f"the id {item.id!r} was already used; the first counts")
            )
        else:
            seen.add(item.id)
            yield item


def folder_hash(folder: Path) -> str:
    """Return the hash by which an imported graph is known again."""
    digest = hashlib.sha256()
    for name in ("nodes.parquet", "edges.parquet"):
        with (folder / name).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def _counted(
    documents: Iterable[Document | LongDocument],
    stage: RunningStage,
    recorder: StageRecorder,
    out_read: dict[str, str],
) -> Iterator[Document | LongDocument]:
    for document in documents:
        out_read[document.id] = document.source
        stage.items += 1
        recorder.progress("read", stage.items, None)
        yield document


def document_schema(writer: SnapshotWriter, wanted: str | Path | None) -> GraphSchema | None:
    """Return the schema that bounds the extraction of documents."""
    return schema_for_build(writer, wanted, _DEFAULT_SCHEMA)
