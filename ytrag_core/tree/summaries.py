"""Names and summaries of communities by a language model: many a call, bounded in tokens, remembered."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel

from ytrag_core.errors import LLMError
from ytrag_core.llm.budget import Budget
from ytrag_core.llm.chat import Message
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.side_by_side import side_by_side
from ytrag_core.llm.structured import ask_for
from ytrag_core.llm.tokens import estimate_tokens
from ytrag_core.llm.usage import Usage
from ytrag_core.storage.descriptions import Description
from ytrag_core.tree.sheets import SheetWriter, order_of_importance

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.language import Language
    from ytrag_core.storage.descriptions import Descriptions
    from ytrag_core.tree.model import KnowledgeTree
    from ytrag_core.tree.sheets import Sheet

__all__ = ["CommunityNamer", "Naming"]

_LOG = logging.getLogger(__name__)
_PROMPT = "communities"
_A_CALL = 8
_REPLY_TOKENS = 90
_REPLY_BASE = 40
_MOST = 2000
"""Communities looked at; beyond them names by rules have to do."""

_LONGEST_NAME, _LONGEST_SUMMARY = 80, 600
_FAILURES = 3
_NOTHING = Usage()


class _Named(BaseModel):
    id: int
    name: str
    summary: str


class _Reply(BaseModel):
    communities: list[_Named]


@dataclass(frozen=True, slots=True)
class Naming:
    """What came of naming communities.

    Attributes
    ----------
    descriptions
        Community -> name and summary; communities that are absent keep the names that they have.
    n_new
        Descriptions that were written now.
    usage
        What that cost.
    complaint
        Why some failed; empty where none did.
    """

    descriptions: Mapping[int, Description]
    n_new: int = 0
    usage: Usage = _NOTHING
    complaint: str = ""


@dataclass(frozen=True, slots=True)
class _Batch:
    sheets: tuple[Sheet, ...]
    messages: tuple[Message, ...]
    n_in: int
    n_out: int


class CommunityNamer:
    """Names communities, the most important ones first.

    Parameters
    ----------
    known
        What was written before.
    llm
        Who is asked; None for nobody: what was written before is found all the same.
    model
        What it is called.
    max_tokens
        Tokens, in and out, that all calls together may take.
    n_calls
        How many calls at a time.
    prompts
        A folder of the user's own prompts.
    """

    def __init__(
        self,
        known: Descriptions,
        llm: LanguageModel | None = None,
        model: str = "",
        *,
        max_tokens: int = 10_000,
        n_calls: int = 4,
        prompts: Path | None = None,
    ) -> None:
        self._known = known
        self._llm = llm
        self._model = model
        self._budget = Budget(max_tokens=max_tokens)
        self._n_calls = n_calls
        self._prompts = prompts
        self._n_running = self._n_failures = 0

    def name(
        self, tree: KnowledgeTree, graph: GraphTables, progress: Callable[[int, int], None] | None = None
    ) -> Naming:
        """Return names and summaries; whatever the model or its endpoint does, nothing is raised.

        Parameters
        ----------
        tree
            The communities.
        graph
            What they are made of.
        progress
            Called with (communities described, communities looked at).
        """
        if self._llm is None and not self._known:
            return Naming({})
        writer = SheetWriter(tree, graph)
        sheets = [writer.sheet(int(community)) for community in order_of_importance(tree)[:_MOST]]
        keys = {sheet.community: sheet.key(self._instruction(sheet.language)) for sheet in sheets}
        stored = self._known.of(keys.values())
        found = {
            sheet.community: stored[keys[sheet.community]]
            for sheet in sheets
            if keys[sheet.community] in stored
        }
        if self._llm is None:
            return Naming(found)
        n_before, usage, complaint = len(found), Usage(), ""
        missing = [sheet for sheet in sheets if sheet.community not in found]
        for batch, (described, used, wrong) in side_by_side(self._batches(missing), self._ask, self._n_calls):
            self._n_running -= 1
            self._budget.settle(batch.n_in, batch.n_out, used)
            self._n_failures = 0 if described else self._n_failures + 1
            usage, complaint = usage + used, complaint or wrong
            self._known.put({keys[community]: description for community, description in described.items()})
            found |= described
            if progress is not None:
                progress(len(found), len(sheets))
        if complaint:
            _LOG.info("some communities keep the names that rules gave them: %s", complaint)
        return Naming(found, len(found) - n_before, usage, complaint)

    def _instruction(self, language: Language) -> str:
        return prompt(_PROMPT, language, self._prompts).format()

    def _batches(self, sheets: Sequence[Sheet]) -> Iterator[_Batch | None]:
        """Yield what is asked together: of one language, in the order given, as far as the budget goes."""
        for batch in self._cut(sheets):
            while not self._budget.reserve(batch.n_in, batch.n_out):
                if self._n_running == 0:
                    return
                yield None
            if self._n_failures >= _FAILURES:
                return
            self._n_running += 1
            yield batch

    def _cut(self, sheets: Sequence[Sheet]) -> Iterator[_Batch]:
        waiting: dict[Language, list[Sheet]] = {}
        for sheet in sheets:
            group = waiting.setdefault(sheet.language, [])
            group.append(sheet)
            if len(group) == _A_CALL:
                yield self._batch(waiting.pop(sheet.language))
        for group in waiting.values():
            yield self._batch(group)

    def _batch(self, sheets: Sequence[Sheet]) -> _Batch:
        text = "\n\n".join(f"[{number}] {sheet.text}" for number, sheet in enumerate(sheets, 1))
        messages = (
            Message("system", self._instruction(sheets[0].language)),
            Message("user", text),
        )
        n_in = sum(estimate_tokens(message.content) + 4 for message in messages)
        return _Batch(tuple(sheets), messages, n_in, _REPLY_BASE + _REPLY_TOKENS * len(sheets))

    def _ask(self, batch: _Batch) -> tuple[dict[int, Description], Usage, str]:
        """Return the descriptions of a batch, what they cost, and what was wrong."""
        if self._llm is None:
            return {}, Usage(), ""
        try:
            asked = ask_for(self._llm, batch.messages, _Reply, max_tokens=batch.n_out, repair=False)
        except LLMError as error:
            return {}, Usage(1), str(error)
        described: dict[int, Description] = {}
        for number, named in _numbered(asked.value.communities if asked.value is not None else ()):
            name = " ".join(named.name.split()).strip("*\"' ")
            if 1 <= number <= len(batch.sheets) and 0 < len(name) <= _LONGEST_NAME:
                summary = " ".join(named.summary.split())[:_LONGEST_SUMMARY]
                described.setdefault(
                    batch.sheets[number - 1].community, Description(name, summary, self._model)
                )
        return described, asked.usage, asked.complaints[-1] if asked.complaints else ""


def _numbered(communities: Sequence[_Named]) -> list[tuple[int, _Named]]:
    """Return what was written with the numbers of the groups: by place where ids repeat or start at 0.

    Small models copy the id of the prompt's form, or count as programs do.
    """
    ids = [named.id for named in communities]
    if len(set(ids)) < len(ids) or ids == list(range(len(ids))):
        return list(enumerate(communities, 1))
    return [(named.id, named) for named in communities]
