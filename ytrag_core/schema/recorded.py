"""The graph schema that a knowledge base was built with."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ytrag_core.schema.model import GraphSchema
from ytrag_core.storage.meta import MetaStore

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["recorded_schema"]

_log = logging.getLogger(__name__)


def recorded_schema(kb: Path, version: str) -> GraphSchema | None:
    """Return the schema of a version that a knowledge base has recorded.

    Parameters
    ----------
    kb
        The knowledge base's directory.
    version
        As the snapshot's manifest has it; empty where it was built without one.

    Returns
    -------
    GraphSchema or None
        None where there is none, or the record is not of a form that can be read.
    """
    path = kb / "meta.sqlite"
    if not version or not path.is_file():
        return None
    with MetaStore(path, writable=False) as meta:
        record = meta.records("schema_versions").get(version)
    try:
        return None if record is None else GraphSchema.model_validate(record)
    except ValidationError as error:
        _log.warning("the schema %s of %s cannot be read: %s", version, kb, error)
        return None
