"""The one object a user needs: build, open, retrieve, ask."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from ytrag_core.agent.answering import Answering
from ytrag_core.config import BuildSettings, RetrievalSettings
from ytrag_core.embedding.choice import load_encoder, loaded_encoder
from ytrag_core.errors import ConfigError, ModelError
from ytrag_core.pipeline.maintained import Maintained
from ytrag_core.pipeline.report import BuildReport, Progress, StageRecorder, no_progress
from ytrag_core.retrieval.retriever import Retriever
from ytrag_core.retrieval.view import SnapshotView
from ytrag_core.retrieval.weights import fusion_in_force, with_tuned_weights
from ytrag_core.storage.snapshot import Snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.embedding.choice import WantedPrecision
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.retrieval.explain import Explanation
    from ytrag_core.retrieval.features import PassageFeatures
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.options import Filters

__all__ = ["KnowledgeBase"]

Format = Literal["documents", "openie", "edges"]


class KnowledgeBase(Answering, Maintained):
    """A snapshot of a knowledge base, opened for questions.

    The next build does not disturb it: it goes on answering from the snapshot it opened. The two newest
    snapshots are kept, so open it anew before a second build follows. Safe to share between threads.

    Attributes
    ----------
    path
        The knowledge base's directory.
    view
        The snapshot's arrays and indices.
    encoder
        The encoder of its vectors.
    settings
        The numbers of retrieval.
    """

    def __init__(
        self,
        path: Path,
        view: SnapshotView,
        encoder: Encoder,
        settings: RetrievalSettings | None = None,
    ) -> None:
        self.path = path
        self.view = view
        self.encoder = encoder
        self.settings = settings or RetrievalSettings()
        self._retriever = Retriever(view, encoder, self.settings)

    @classmethod
    def open(
        cls,
        path: str | Path,
        *,
        encoder: Encoder | None = None,
        settings: RetrievalSettings | None = None,
        warm_up: bool = False,
    ) -> KnowledgeBase:
        """Open the live snapshot at `path`.

        Parameters
        ----------
        path
            The knowledge base's directory.
        encoder
            The encoder; by default the one that the snapshot names, fetched where it is not at hand.
        settings
            The numbers of retrieval.
        warm_up
            Load the encoder and encode once, so that the first question takes no longer than the next.

        Raises
        ------
        SnapshotError
            There is no knowledge base, or it is damaged or of a newer format.
        ModelError
            The encoder cannot be had, or is not the one that made the vectors.
        ConfigError
            The tuned weights of the fusion are damaged.
        """
        root = Path(path)
        snapshot = Snapshot.open(root)
        encoder = encoder or load_encoder(kb=root)
        made_by = snapshot.manifest.encoder.get("fingerprint")
        if made_by != encoder.fingerprint:
            raise ModelError(
                f"the vectors of {root} were made by {made_by!r}, the encoder is {encoder.fingerprint!r}; "
                f"open it with that encoder, or encode everything again with `ytrag reembed --kb {root}`"
            )
        view = SnapshotView(snapshot)
        view.check()
        settings = with_tuned_weights(root, settings or RetrievalSettings())
        if warm_up:
            encoder.warm_up()
        return cls(root, view, encoder, settings)

    @classmethod
    def build(
        cls,
        path: str | Path,
        sources: Sequence[str | Path],
        *,
        format: Format = "documents",
        settings: BuildSettings | None = None,
        encoder: Encoder | str | Path | None = None,
        precision: WantedPrecision = "auto",
        encoder_place: Path | None = None,
        progress: Progress = no_progress,
        schema: str | Path | None = None,
        replace: bool = False,
        reuse_vectors: str | Path | None = None,
        plan: ExtractionPlan | None = None,
    ) -> BuildReport:
        """Add sources to the knowledge base at `path`, which is made if it is not there.

        A crash at any moment leaves the snapshot before readable.

        Parameters
        ----------
        path
            The knowledge base's directory.
        sources
            Files and folders for `documents`; one folder for `openie` and `edges`.
        format
            What the sources are: see the commands `index` and `import`.
        settings
            Sizes and thresholds; by default the sizes of chunks and the way in which names are resolved are
            those of the knowledge base that is there.
        encoder
            The encoder, its name, or the folder of a user's own; by default the one of the knowledge base
            that is there, else the built-in one for English, and then the report notes where most texts are
            in another language.
        precision
            Of an encoder that is not loaded yet: `auto` is that of the knowledge base, else the better one
            for this processor.
        encoder_place
            A folder or wheel to look into first for an encoder that is not loaded yet.
        progress
            Told of each stage.
        schema
            For `documents` and `openie`: name or file of a graph schema; by default the one in force, or
            `general` for documents.
        replace
            For `edges`: replace another graph.
        reuse_vectors
            Another knowledge base of the same encoder; texts that it has too are not encoded.
        plan
            For `documents`: who extracts; rules alone by default. Its `summaries` count for every format.

        Returns
        -------
        BuildReport

        Raises
        ------
        ConfigError, DocumentError, GraphFormatError, SchemaError
            The sources cannot be used, or the knowledge base has another encoder.
        ModelError
            The encoder cannot be had.
        LockedError
            Another process is writing.
        SnapshotError
            The directory is foreign, damaged or cannot be written.
        """
        # Opening and asking need none of what building needs, and importing that takes a second.
        from ytrag_core.pipeline.settings import settings_for
        from ytrag_core.pipeline.sources import build_from_documents, build_from_edges, build_from_openie

        root, paths = Path(path), [Path(source) for source in sources]
        if format not in ("documents", "openie", "edges"):
            raise ConfigError(f"format {format!r} arrived; choose documents, openie or edges")
        retrying = plan is not None and plan.retry_failed and format == "documents"
        if not (paths or retrying) or (format != "documents" and len(paths) != 1):
            wanted = "at least one path" if format == "documents" else "exactly one folder"
            raise ConfigError(f"{len(paths)} sources arrived; {format} takes {wanted}")
        settings = settings or settings_for(root)
        recorder = StageRecorder(progress)
        borrowed = None if reuse_vectors is None else Path(reuse_vectors)
        if format == "edges" and schema is not None:
            raise ConfigError("a graph schema arrived; edges takes none, its relations are given")
        loaded = loaded_encoder(encoder, precision, root, encoder_place, progress)
        if format == "openie":
            report = build_from_openie(root, paths[0], loaded, settings, recorder, schema, borrowed, plan)
        elif format == "edges":
            report = build_from_edges(
                *(root, paths[0], loaded, settings, recorder),
                replace=replace,
                reuse_vectors=borrowed,
                plan=plan,
            )
        else:
            report = build_from_documents(
                *(root, paths, loaded, settings, recorder, schema, borrowed, plan),
                propose=encoder is None,
            )
        return _with_notes(report, root, loaded, propose=encoder is None)

    @classmethod
    def reembed(
        cls,
        path: str | Path,
        *,
        encoder: Encoder | str | Path | None = None,
        precision: WantedPrecision = "auto",
        encoder_place: Path | None = None,
        settings: BuildSettings | None = None,
        progress: Progress = no_progress,
        reuse_vectors: str | Path | None = None,
    ) -> BuildReport:
        """Encode everything in the knowledge base at `path` with another encoder.

        Nothing is read or extracted again. A build that dies is taken up where it was, and leaves the
        snapshot before readable.

        Parameters
        ----------
        path
            The knowledge base's directory.
        encoder
            The encoder from now on, its name, or the folder of a user's own; by default the one it has.
        precision, encoder_place
            As for `build`.
        settings
            Sizes and thresholds; those of the live snapshot by default.
        progress
            Told of each stage.
        reuse_vectors
            Another knowledge base of that encoder; texts that it has too are not encoded.

        Returns
        -------
        BuildReport

        Raises
        ------
        ConfigError
            The vectors of `reuse_vectors` are of another encoder.
        ModelError
            The encoder cannot be had.
        LockedError
            Another process is writing.
        SnapshotError
            There is no knowledge base, or it is damaged or cannot be written.
        """
        from ytrag_core.pipeline.reembed import reembed

        root = Path(path)
        borrowed = None if reuse_vectors is None else Path(reuse_vectors)
        Snapshot.open(root, verify="size")
        loaded = loaded_encoder(encoder, precision, root, encoder_place, progress)
        report = reembed(root, loaded, settings, StageRecorder(progress), borrowed)
        return _with_notes(report, root, loaded, propose=False)

    def retrieve(
        self,
        question: str,
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> Evidence:
        """Return the evidence for a question: triples, passages, communities and paths.

        Parameters
        ----------
        question
            The question.
        top_k
            Most passages and most triples.
        routes
            Subset of `ytrag_core.config.ROUTES`; all by default.
        **filters
            `types`, `where` and `reranker`: see `ytrag_core.retrieval.options.Filters`.

        Raises
        ------
        QueryError
            The question is empty, `top_k` is below 1, a route is unknown, or a condition cannot be read or is
            on a field that there is not.
        """
        return self._retriever.retrieve(question, top_k=top_k, routes=routes, **filters)

    def explain(
        self,
        question: str,
        chunk_id: str | None = None,
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> Explanation:
        """Return why each passage of the evidence is there, or why one passage is, or is not.

        Parameters
        ----------
        question
            The question.
        chunk_id
            The passage to explain; the `top_k` best by default.
        top_k, routes, **filters
            As for `retrieve`.

        Raises
        ------
        QueryError
            As for `retrieve`, or there is no such passage.
        """
        return self._retriever.explain(question, chunk_id, top_k=top_k, routes=routes, **filters)

    def retrieve_many(
        self,
        questions: Sequence[str],
        *,
        top_k: int = 20,
        routes: Sequence[str] | None = None,
        **filters: Unpack[Filters],
    ) -> list[Evidence]:
        """Return the evidence for each of many questions, in their order, sooner than one by one.

        Parameters
        ----------
        questions
            The questions; they are encoded together and answered side by side, one a core.
        top_k, routes, **filters
            As for `retrieve`.

        Raises
        ------
        QueryError
            As for `retrieve`; the message says which question it is.
        """
        return self._retriever.retrieve_many(questions, top_k=top_k, routes=routes, **filters)

    def passage_features(self, question: str) -> PassageFeatures | None:
        """Return the candidates of a question with what the fusion weighs; None where there are no passages.

        Raises
        ------
        QueryError
            As for `retrieve`.
        """
        return self._retriever.features(question)

    def info(self) -> dict[str, Any]:
        """Return counts by kind, the snapshot, its encoder, its schema version and its size in bytes."""
        manifest = self.view.snapshot.manifest
        return {
            "path": str(self.path),
            "snapshot": manifest.snapshot,
            "format_version": manifest.format_version,
            "counts": dict(manifest.counts),
            "encoder": dict(manifest.encoder),
            "schema_version": manifest.schema_version,
            "bytes": self.view.snapshot.bytes_on_disk(),
            "sources": list(manifest.sources),
            "fusion": fusion_in_force(self.path, self.settings),
        }


def _with_notes(report: BuildReport, root: Path, encoder: Encoder, *, propose: bool) -> BuildReport:
    """Add what the encoder has to say to a report."""
    from ytrag_core.pipeline.notes import language_note

    notes = [encoder.note] if encoder.note else []
    if propose and (proposal := language_note(Snapshot.open(root, verify="size"), encoder.description)):
        notes.append(proposal)
    return replace(report, notes=(*report.notes, *notes))
