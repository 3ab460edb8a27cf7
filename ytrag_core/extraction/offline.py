"""Extraction without a model: the script of a chunk decides who reads it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ytrag_core.documents.segmentation import chinese_share
from ytrag_core.extraction.chinese import extract_chinese
from ytrag_core.extraction.english import extract_english

if TYPE_CHECKING:
    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.model import Extraction

__all__ = ["EXTRACTOR_VERSION", "extract_offline"]

EXTRACTOR_VERSION = "offline-1"

_CHINESE = 0.3
_LONGEST_TITLE = 300


def extract_offline(chunk: Chunk) -> Extraction:
    """Return the entities of a chunk and how its sentences link them, found by rules.

    Parameters
    ----------
    chunk
        A passage. One of which a third of the letters are Chinese is read as Chinese, others as English.

    Returns
    -------
    Extraction
        The document's title is an entity too, unless it is so long that it names nothing. Dates and
        quantities are attributes. Every entity is named as in the text or the title, but for a leading
        article, a possessive ending and a few countries and wars that have one name here.
    """
    if len(chunk.title) > _LONGEST_TITLE:
        chunk = replace(chunk, title="")
    is_chinese = chinese_share(chunk.text) >= _CHINESE
    return extract_chinese(chunk) if is_chinese else extract_english(chunk)
