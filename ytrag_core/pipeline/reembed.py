"""Another encoder for everything that a knowledge base holds; nothing is read or extracted again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.errors import SnapshotError
from ytrag_core.pipeline.build import build_snapshot
from ytrag_core.pipeline.settings import settings_of
from ytrag_core.pipeline.stored_graph import CONTENT_FILES, snapshot_content
from ytrag_core.pipeline.vector_cache import VectorCache
from ytrag_core.storage.layout import live_name
from ytrag_core.storage.snapshot import SnapshotWriter

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.config import BuildSettings
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import BuildReport, StageRecorder

__all__ = ["reembed"]


def reembed(
    root: Path,
    encoder: Encoder,
    settings: BuildSettings | None,
    recorder: StageRecorder,
    reuse_vectors: Path | None = None,
) -> BuildReport:
    """Encode everything in a knowledge base with another encoder, and build anew what rests on vectors.

    Documents, passages, triples and their provenance are those of the live snapshot, to the byte; their
    sources need not be there any more. The old vectors stay with the old snapshot until the next build.

    Parameters
    ----------
    root
        The knowledge base's directory.
    encoder
        The encoder from now on.
    settings
        Sizes and thresholds; those of the live snapshot by default.
    recorder
        Times the stages.
    reuse_vectors
        Another knowledge base whose vectors of the new encoder may be used.

    Raises
    ------
    SnapshotError
        There is no knowledge base, or it is damaged or cannot be written.
    ConfigError
        The vectors of `reuse_vectors` are of another encoder.
    """
    live_name(root)
    with SnapshotWriter(root) as writer:
        live = writer.previous
        if live is None:
            raise SnapshotError(f"{root} has no finished snapshot to encode again: build one first")
        with recorder.stage("read") as stage:
            live.check_sums([path for path in CONTENT_FILES if path in live.manifest.files])
            content = snapshot_content(live)
            stage.items = content.graph.n_triples
        cache = VectorCache(writer, encoder, reuse_vectors, change_encoder=True)
        return build_snapshot(writer, content, encoder, settings or settings_of(live), recorder, cache)
