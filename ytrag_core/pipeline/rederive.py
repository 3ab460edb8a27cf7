"""Files of a snapshot made again: from its own tables, from what is stored, or from an imported graph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ytrag_core.embedding.index import VectorIndex
from ytrag_core.errors import DocumentError, GraphFormatError, SnapshotError
from ytrag_core.graph.edges import read_edges
from ytrag_core.graph.tables import CHUNKS, DOCUMENTS
from ytrag_core.pipeline.build import Content, build_snapshot
from ytrag_core.pipeline.indices import build_indices
from ytrag_core.pipeline.reading import choices_of, stored_extractions
from ytrag_core.pipeline.records import known_sources, stored_content
from ytrag_core.pipeline.resolving import make_resolver
from ytrag_core.pipeline.schema_in_force import schema_of_snapshot
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.pipeline.sources import folder_hash
from ytrag_core.pipeline.stored_graph import MENTIONS_FILE, TABLE_FILES, snapshot_content
from ytrag_core.pipeline.text_files import write_text_columns, write_text_indices
from ytrag_core.pipeline.vector_cache import VectorCache
from ytrag_core.pipeline.vectors import TextEncoder
from ytrag_core.retrieval import layout
from ytrag_core.storage.tables import write_table

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport, StageRecorder
    from ytrag_core.storage.mending import MendingWriter
    from ytrag_core.storage.snapshot import Snapshot

__all__ = ["LostError", "is_of_tables", "make_again"]

_TEXT_FILES = frozenset(
    {"lexicon.arrow", layout.NAMES, layout.TITLES, layout.SENTENCES, layout.METADATA, MENTIONS_FILE}
)
_TEXT_FOLDERS = ("bm25/", f"{layout.RELATION_TERMS}/")
_INDEX_FOLDER = "hnsw/"
_INDEXED = {
    "strings": layout.STRING_VECTORS,
    "triples": layout.TRIPLE_VECTORS,
    "chunks": layout.CHUNK_VECTORS,
    "communities": layout.COMMUNITY_VECTORS,
}


class LostError(SnapshotError):
    """Nothing is left that a snapshot could be made of."""


def is_of_tables(name: str) -> bool:
    """Tell whether a file is made of the tables, or of vectors, alone: without encoding or a tree."""
    return name in _TEXT_FILES or name.startswith((*_TEXT_FOLDERS, _INDEX_FOLDER))


def make_again(
    writer: MendingWriter,
    snapshot: Snapshot,
    wrong: Collection[str],
    load_encoder: Callable[[], Encoder],
    recorder: StageRecorder,
    source: Path | None,
) -> BuildReport | None:
    """Make the damaged files of a snapshot again, and commit them.

    Parameters
    ----------
    writer
        The open writer.
    snapshot
        The damaged snapshot.
    wrong
        Its files that are not sound.
    load_encoder
        Called where something has to be encoded, or might have to be.
    recorder
        Times the stages.
    source
        The folder that an imported graph came from, where it lies elsewhere by now.

    Returns
    -------
    BuildReport or None
        Of the build; None where no build was needed.

    Raises
    ------
    LostError
        Neither the tables nor what they were made of is left.
    """
    own = _own_content(snapshot, wrong)
    if own is not None and all(map(is_of_tables, wrong)):
        _write_indices(writer, snapshot, wrong, recorder)
        _write_text(writer, own, wrong, recorder)
        writer.commit_as_before()
        return None
    encoder, settings = load_encoder(), settings_of(snapshot)
    cache = VectorCache(writer, encoder, older=True)
    text_encoder = TextEncoder(encoder, cache)
    content = own or _imported(snapshot, source)
    if content is None:
        graph_schema = schema_of_snapshot(writer)
        choices_of(writer).forget_unfinished()
        resolver = make_resolver(writer, text_encoder, encoder, settings, recorder)
        stored = stored_extractions(writer, graph_schema)
        try:
            content = stored_content(writer, [], "documents", [], graph_schema, recorder, resolver, stored)
        except DocumentError as error:
            raise LostError(
                f"{snapshot.path}: its tables are damaged and {writer.root} stores no documents"
            ) from error
    return build_snapshot(writer, content, encoder, settings, recorder, cache, text_encoder)


def _own_content(snapshot: Snapshot, wrong: Collection[str]) -> Content | None:
    """Return the content of the snapshot where its tables are sound."""
    tables = set(TABLE_FILES) & snapshot.manifest.files.keys()
    if tables & set(wrong) or not set(TABLE_FILES[:6]) <= tables:
        return None
    if layout.GRAPH not in wrong and layout.GRAPH in snapshot.manifest.files:
        return snapshot_content(snapshot)
    if MENTIONS_FILE not in wrong and MENTIONS_FILE in snapshot.manifest.files:
        return snapshot_content(snapshot, by_mentions=True)
    return None


def _imported(snapshot: Snapshot, source: Path | None) -> Content | None:
    """Return an imported graph, read anew; None for a knowledge base of documents.

    Raises
    ------
    LostError
        Its folder is not there any more, or holds another graph.
    """
    origins = [entry for entry in known_sources(snapshot) if entry.get("format") == "edges"]
    if not origins:
        return None
    origin = origins[-1]
    folder = Path(str(origin.get("path"))) if source is None else source
    try:
        found = folder_hash(folder)
    except OSError:
        raise LostError(
            f"the tables of an imported graph are damaged, and the graph is not in {folder} any more (name "
            "its folder with `ytrag repair --source FOLDER`)"
        ) from None
    if found != origin.get("sha256"):
        raise LostError(
            f"the tables of an imported graph are damaged, and {folder} holds another graph by now (name "
            "the folder of the one that was imported with `ytrag repair --source FOLDER`)"
        )
    try:
        read = read_edges(folder)
    except GraphFormatError as error:
        raise LostError(f"the tables of an imported graph are damaged, and {error}") from error
    return Content(read.graph, DOCUMENTS.empty_table(), CHUNKS.empty_table(), [origin], read.problems)


def _write_indices(
    writer: MendingWriter, snapshot: Snapshot, wrong: Collection[str], recorder: StageRecorder
) -> None:
    damaged = [name for name in _INDEXED if any(file.startswith(f"{_INDEX_FOLDER}{name}.") for file in wrong)]
    if not damaged:
        return
    rows = {name: snapshot.arrays(_INDEXED[name])["vectors"] for name in damaged}
    with recorder.stage("vector index", sum(map(len, rows.values()))):
        communities = rows.pop("communities", None)
        indices = build_indices(rows, recorder.callback("vector index"))
        if communities is not None:
            indices["communities"] = VectorIndex.build(communities)
        for name, index in indices.items():
            index.save(writer.path, name)


def _write_text(
    writer: MendingWriter, content: Content, wrong: Collection[str], recorder: StageRecorder
) -> None:
    graph, passages = content.graph, content.passages()
    if MENTIONS_FILE in wrong:
        write_table(writer.path / MENTIONS_FILE, graph.mentions())
    if not any(name in _TEXT_FILES or name.startswith(_TEXT_FOLDERS) for name in wrong):
        return
    with recorder.stage("text index", len(passages) or graph.n_nodes):
        titles: list[str] = content.chunks["title"].to_pylist() if passages else []
        write_text_indices(writer.path, graph, passages, titles, recorder)
        write_text_columns(writer.path, content.documents, content.chunks)
