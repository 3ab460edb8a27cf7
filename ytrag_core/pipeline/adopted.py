"""A manifest for a snapshot that has lost its own, and of which no copy was kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ytrag_core import __version__
from ytrag_core.config import BuildSettings
from ytrag_core.errors import SnapshotError
from ytrag_core.pipeline.build import encoder_entry
from ytrag_core.pipeline.stored_graph import MENTIONS_FILE, TABLE_FILES
from ytrag_core.storage import layout
from ytrag_core.storage.checking import manifest_of
from ytrag_core.storage.files import sha256_files
from ytrag_core.storage.manifest import FORMAT_VERSION, FileEntry, Manifest
from ytrag_core.storage.meta import MetaStore
from ytrag_core.storage.schema_store import SchemaStore
from ytrag_core.storage.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa

    from ytrag_core.embedding.encoder import Encoder

__all__ = ["adopted_manifest"]


def adopted_manifest(root: Path, name: str, load_encoder: Callable[[], Encoder]) -> Manifest:
    """Return what can be said of a snapshot without its manifest.

    Its tables carry checksums of their own, so those that can be read are as they were written; all other
    files are to be made again. Settings, encoder and sources are those of another snapshot that is there.

    Parameters
    ----------
    root
        The knowledge base's directory.
    name
        The snapshot's name.
    load_encoder
        Called where no other snapshot says which encoder it was.
    """
    folder = root / layout.SNAPSHOTS_NAME / name
    tables = _readable(folder)
    others = (manifest_of(root, layout.snapshot_name(number))[0] for number in layout.snapshot_numbers(root))
    known = next((manifest for manifest in reversed([*others]) if manifest is not None), None)
    n_documents = tables["documents.parquet"].num_rows if "documents.parquet" in tables else 0
    sources: list[Any] = [] if known is None else list(known.sources)
    if known is None and "documents.parquet" in tables and not n_documents:
        sources = [{"format": "edges", "path": "", "sha256": ""}]
    return Manifest(
        format_version=FORMAT_VERSION,
        ytrag_version=__version__,
        snapshot=name,
        counts={file.removesuffix(".parquet"): table.num_rows for file, table in tables.items()},
        files={
            file: FileEntry(bytes=(folder / file).stat().st_size, sha256=sha256_files([folder / file])[0])
            for file in tables
        },
        encoder=encoder_entry(load_encoder()) if known is None else known.encoder,
        schema_version=_schema_version(root, "" if known is None else known.schema_version),
        settings=BuildSettings().model_dump(mode="json") if known is None else known.settings,
        sources=sources,
    )


def _readable(folder: Path) -> dict[str, pa.Table]:
    found = {}
    for file in (*TABLE_FILES, MENTIONS_FILE):
        try:
            found[file] = read_table(folder / file)
        except SnapshotError:
            continue
    return found


def _schema_version(root: Path, before: str) -> str:
    """Return the version of the schema in force."""
    with MetaStore(root / layout.META_NAME, writable=False) as meta:
        changes = SchemaStore(meta.database).changes()
    return changes[-1].version if changes else before
