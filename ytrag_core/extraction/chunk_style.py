"""One call for a whole passage: its types in the prompt, an example as turns of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.errors import LLMError
from ytrag_core.extraction.grounding import runs_on
from ytrag_core.extraction.reply import ChunkReply
from ytrag_core.extraction.salvage import breaks_off, salvage_records
from ytrag_core.extraction.style import Heard, Listener, passage_language, place_of
from ytrag_core.llm.chat import Message
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.structured import ask_for

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.menu import Menu
    from ytrag_core.extraction.tolerant import Records
    from ytrag_core.llm.chat import LanguageModel

__all__ = ["ChunkStyle"]

_ANYTHING = {"en": "anything", "zh": "任意"}


class ChunkStyle:
    """Asks for everything at once.

    Parameters
    ----------
    proposing
        Whether the model may use and propose types that are not listed.
    folder
        The user's own prompts.
    """

    prompts = (
        "extract",
        "extract_propose",
        "extract_bounded",
        "extract_passage",
        "extract_example",
        "extract_example_reply",
        "extract_continue",
    )

    def __init__(self, *, proposing: bool, folder: Path | None = None) -> None:
        self._rule = "extract_propose" if proposing else "extract_bounded"
        self._folder = folder

    def conversations(self, chunk: Chunk, menu: Menu) -> list[list[Message]]:
        """Return what the call says: the task, an example with its own few types, the passage with its."""
        language = passage_language(chunk.text)
        rule = prompt(self._rule, language, self._folder).format()
        passage = prompt("extract_passage", language, self._folder).format(
            entity_types=menu.entity_lines(),
            relation_types=menu.relation_lines(_ANYTHING[language]),
            attribute_types=menu.attribute_lines(),
            title=place_of(chunk) or "-",
            text=chunk.text.strip(),
        )
        return [
            [
                Message("system", prompt("extract", language, self._folder).format(types_rule=rule)),
                Message("user", prompt("extract_example", language, self._folder).format()),
                Message("assistant", prompt("extract_example_reply", language, self._folder).format()),
                Message("user", passage),
            ]
        ]

    def hear(self, llm: LanguageModel, chunk: Chunk, menu: Menu, max_tokens: int, *, repair: bool) -> Heard:
        """Ask; a reply that cannot be used is asked for again, one that was cut is asked to go on."""
        (messages,) = self.conversations(chunk, menu)
        listener = Listener(llm)
        try:
            asked = ask_for(listener, messages, ChunkReply, max_tokens=max_tokens, repair=repair)
        except LLMError as error:
            records = _best(listener.replies)
            return Heard(records, str(error), listener.usage, endpoint_failed=records is None)
        if asked.value is None:
            return Heard(_best(listener.replies), asked.complaints[-1], asked.usage)
        records, complaint = asked.value.records, _broken(listener, asked.raw, max_tokens)
        if not complaint or not repair or asked.usage.llm_calls > 1:
            return Heard(records, complaint, asked.usage)
        if runs_on(records, f"{place_of(chunk)}\n{chunk.text}".casefold()):
            return Heard(records, f"{complaint}: it no longer speaks of the passage", asked.usage)
        going_on = prompt("extract_continue", passage_language(chunk.text), self._folder).format()
        turns = [*messages, Message("assistant", asked.raw), Message("user", going_on)]
        try:
            rest = ask_for(listener, turns, ChunkReply, max_tokens=max_tokens, repair=False)
        except LLMError as error:
            return Heard(records, f"{complaint}; the rest did not come: {error}", asked.usage)
        if rest.value is not None:
            records.extend(rest.value.records)
            complaint = _broken(listener, rest.raw, max_tokens)
        return Heard(records, complaint, asked.usage + rest.usage)


def _broken(listener: Listener, raw: str, max_tokens: int) -> str:
    """Return what is wrong with a reply whose end is missing; nothing where it is whole."""
    if listener.is_cut:
        return f"the reply was cut at {max_tokens} tokens"
    return "the reply breaks off" if breaks_off(raw) else ""


def _best(replies: list[str]) -> Records | None:
    """Return what can be salvaged of the reply that gives most; of equals the later one."""
    salvaged = [records for reply in reversed(replies) if (records := salvage_records(reply)) is not None]
    return max(salvaged, key=len) if salvaged else None
