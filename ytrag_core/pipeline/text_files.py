"""Files of a snapshot that are made of texts: indices of words and names, sentences, metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.retrieval import layout
from ytrag_core.retrieval.columns import column_arrays, parse_metadata
from ytrag_core.retrieval.lexical import LexicalIndex
from ytrag_core.retrieval.lexicon import build_lexicon
from ytrag_core.retrieval.names import name_arrays
from ytrag_core.retrieval.relation_words import relation_texts
from ytrag_core.retrieval.sentences import sentence_arrays
from ytrag_core.retrieval.titles import title_arrays
from ytrag_core.storage.arrays import write_arrays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pyarrow as pa

    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.pipeline.report import StageRecorder

__all__ = ["write_text_columns", "write_text_indices"]


def write_text_indices(
    folder: Path,
    graph: GraphTables,
    passages: Sequence[str],
    titles: Sequence[str],
    recorder: StageRecorder,
) -> None:
    """Write the indices over names, relations, passages and titles.

    Parameters
    ----------
    folder
        The snapshot's own directory.
    graph
        The graph.
    passages, titles
        What is indexed of each passage, and its title; none for a graph without passages.
    recorder
        Told of progress.
    """
    names: list[str] = graph.node_names().to_pylist()
    aliases = [*graph.entities["aliases"].to_pylist(), *graph.attributes["aliases"].to_pylist()]
    pairs = [*enumerate(names), *((node, form) for node, forms in enumerate(aliases) for form in forms)]
    write_arrays(folder / "lexicon.arrow", build_lexicon(pairs, passages or dict.fromkeys(names)))
    write_arrays(folder / layout.NAMES, name_arrays(graph.node_names(), graph.entities["type"]))
    relations = relation_texts(graph.relations["name"].to_pylist())
    LexicalIndex.build(relations).save(folder / layout.RELATION_TERMS)
    if passages:
        index = LexicalIndex.build(passages, progress=recorder.callback("text index"))
        index.save(folder / "bm25")
        write_arrays(folder / layout.TITLES, title_arrays(titles, index))


def write_text_columns(folder: Path, documents: pa.Table, chunks: pa.Table) -> None:
    """Write the offsets of the passages' sentences, and the documents' metadata as columns.

    Parameters
    ----------
    folder
        The snapshot's own directory.
    documents, chunks
        Tables of `DOCUMENTS` and `CHUNKS`.
    """
    texts = (text.as_py() for text in chunks["text"])
    write_arrays(folder / layout.SENTENCES, sentence_arrays(texts))
    metadata = (text.as_py() for text in documents["metadata"])
    write_arrays(folder / layout.METADATA, column_arrays(parse_metadata(metadata)))
