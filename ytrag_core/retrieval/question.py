"""A question as it is read: in known words, with the names in it, and what it asks about them."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.retrieval.mentions import find_mentions, residual_question, telling
from ytrag_core.retrieval.spelling import respell

if TYPE_CHECKING:
    from ytrag_core.config import RetrievalSettings
    from ytrag_core.retrieval.clock import Clock
    from ytrag_core.retrieval.mentions import Mention
    from ytrag_core.retrieval.view import SnapshotView

__all__ = ["Asked", "in_known_words", "names_in"]

_HALF_WIDTH = {ord("\u3000"): " ", ord("＇"): "'"} | {
    code: code - 0xFEE0
    for first, last in ("０９", "ＡＺ", "ａｚ")
    for code in range(ord(first), ord(last) + 1)
}


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A question as it is read.

    Attributes
    ----------
    question
        As it was asked.
    text
        In plain letters and known words.
    mentions
        The names in it.
    residual
        What it asks about its names: `text` without them; empty where that is nothing.
    clock
        Times what is done for it.
    """

    question: str
    text: str
    mentions: list[Mention]
    residual: str
    clock: Clock

    @property
    def read_as(self) -> str:
        """The question in other words than it was asked, or nothing."""
        return self.text if self.text != _plain_letters(self.question) else ""


def in_known_words(question: str, view: SnapshotView) -> str:
    """Return a question in plain letters, its slips mended."""
    return respell(_plain_letters(question), view.lexicon)


def names_in(
    question: str, text: str, view: SnapshotView, settings: RetrievalSettings, clock: Clock, *, on_graph: bool
) -> Asked:
    """Find the names in a question and, where routes on the graph need it, what it asks about them.

    Parameters
    ----------
    question
        As it was asked.
    text
        As `in_known_words` gives it.
    view, settings
        Where the names are looked up, and how they are weighed.
    clock
        Times what is done for it.
    on_graph
        Whether a route needs what is asked about the names.
    """
    mentions = find_mentions(text, view.lexicon, settings, view.name)
    names = _asked_about(mentions, view) if on_graph else []
    return Asked(question, text, mentions, residual_question(text, names) if names else "", clock)


def _asked_about(mentions: list[Mention], view: SnapshotView) -> list[Mention]:
    """Return the names that a question asks about; one that is called like a relation is asked for."""
    names = telling(mentions)
    relations = view.relation_words
    return [mention for mention in names if not relations.names_a_relation(mention)] or names


def _plain_letters(question: str) -> str:
    """Return a question with composed accents, and with plain letters and digits in place of wide ones."""
    return unicodedata.normalize("NFC", question).translate(_HALF_WIDTH)
