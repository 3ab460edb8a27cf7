"""One call a sentence, for small models: names found by rules, and a choice among them for each triple.

A model of some hundred million parameters cannot list what a passage says, but can often tell which of a few
given names a sentence links, and how. Every triple is then grounded by construction.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.documents.sentences import split_sentences
from ytrag_core.errors import LLMError
from ytrag_core.extraction.offline import extract_offline
from ytrag_core.extraction.reply import sentence_reply
from ytrag_core.extraction.style import Heard, passage_language, place_of
from ytrag_core.extraction.tolerant import Records
from ytrag_core.llm.chat import Message
from ytrag_core.llm.prompts import prompt
from ytrag_core.llm.structured import ask_for
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.menu import Menu
    from ytrag_core.extraction.model import Extraction
    from ytrag_core.llm.chat import LanguageModel
    from ytrag_core.llm.language import Language

__all__ = ["SentenceStyle"]

_MOST_NAMES = 12
_MOST_REPLY_TOKENS = 320
_SEPARATOR = {"en": "; ", "zh": "；"}


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence with the names that it may speak of, at least two."""

    text: str
    names: tuple[str, ...]


class SentenceStyle:
    """Asks sentence by sentence.

    Parameters
    ----------
    folder
        The user's own prompts.
    """

    prompts = (
        "extract_sentence",
        "extract_sentence_text",
        "extract_sentence_example",
        "extract_sentence_example_reply",
    )

    def __init__(self, *, folder: Path | None = None) -> None:
        self._folder = folder

    def conversations(self, chunk: Chunk, menu: Menu) -> list[list[Message]]:
        """Return what each call says; none for sentences that name fewer than two things."""
        language = passage_language(chunk.text)
        return [
            self._messages(chunk, menu, sentence, language)
            for sentence in _sentences(chunk, extract_offline(chunk))
        ]

    def hear(self, llm: LanguageModel, chunk: Chunk, menu: Menu, max_tokens: int, *, repair: bool) -> Heard:
        """Ask about each sentence; one whose reply cannot be used costs the others nothing."""
        language = passage_language(chunk.text)
        found = extract_offline(chunk)
        records = Records(entities=list(found.entities), attributes=list(found.attributes))
        relations = [relation.name for relation in menu.relation_types]
        usage, n_sentences, complaints = Usage(), 0, []
        for sentence in _sentences(chunk, found):
            n_sentences += 1
            form = sentence_reply(sentence.names, relations)
            messages = self._messages(chunk, menu, sentence, language)
            limit = min(max_tokens, _MOST_REPLY_TOKENS)
            try:
                asked = ask_for(llm, messages, form, max_tokens=limit, repair=repair)
            except LLMError as error:
                return Heard(None, str(error), usage, endpoint_failed=True)
            usage += asked.usage
            if asked.value is None:
                complaints.append(asked.complaints[-1])
                records.refuse(sentence.text, "a sentence whose reply could not be used")
                continue
            for triple in asked.value.triples:  # type: ignore[attr-defined]
                if triple.head != triple.tail:
                    records.triples.append((triple.head, triple.relation, triple.tail))
        if complaints and len(complaints) == n_sentences:
            return Heard(None, complaints[-1], usage)
        complaint = (
            f"{len(complaints)} of {n_sentences} sentences failed: {complaints[-1]}" if complaints else ""
        )
        return Heard(records, complaint, usage)

    def _messages(self, chunk: Chunk, menu: Menu, sentence: _Sentence, language: Language) -> list[Message]:
        separator = _SEPARATOR[language]
        text = prompt("extract_sentence_text", language, self._folder).format(
            names=separator.join(sentence.names),
            relations=separator.join(relation.name for relation in menu.relation_types) or "-",
            title=place_of(chunk) or "-",
            text=sentence.text,
        )
        return [
            Message("system", prompt("extract_sentence", language, self._folder).format()),
            Message("user", prompt("extract_sentence_example", language, self._folder).format()),
            Message("assistant", prompt("extract_sentence_example_reply", language, self._folder).format()),
            Message("user", text),
        ]


def _sentences(chunk: Chunk, found: Extraction) -> Iterator[_Sentence]:
    """Yield the sentences that may link two names; the title's is one of them where it is an entity."""
    forms = [(form, mention.name) for mention in found.entities for form in (mention.name, *mention.aliases)]
    known = {mention.name for mention in found.entities}
    title = next((name for form, name in forms if form == " ".join(chunk.title.split())), "")
    for start, end in split_sentences(chunk.text):
        text = " ".join(chunk.text[start:end].split())
        places: dict[str, int] = {}
        for form, name in forms:
            at = _place(form, text)
            if at >= 0:
                places[name] = min(at, places.get(name, at))
        names = sorted(places, key=places.__getitem__)
        if title in known and title not in names:
            names.insert(0, title)
        if len(names) > 1:
            yield _Sentence(text, tuple(names[:_MOST_NAMES]))


def _place(form: str, text: str) -> int:
    """Return where a name stands in a sentence as words of its own, -1 where it does not."""
    if not form or form not in text:
        return -1
    if not form[0].isascii():
        return text.find(form)
    found = re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text)
    return found.start() if found else -1
