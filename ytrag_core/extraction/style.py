"""A way to ask a language model about a passage, and what is heard of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from ytrag_core.documents.segmentation import chinese_share
from ytrag_core.llm.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ytrag_core.documents.model import Chunk
    from ytrag_core.extraction.menu import Menu
    from ytrag_core.extraction.tolerant import Records
    from ytrag_core.llm.chat import Completion, LanguageModel, Message
    from ytrag_core.llm.language import Language

__all__ = ["Heard", "Listener", "Style", "passage_language", "place_of"]

_CHINESE = 0.3
_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Heard:
    """What a model said of a passage.

    Attributes
    ----------
    records
        What was read; None where nothing was.
    complaint
        What was wrong; empty where nothing was.
    usage
        What it cost.
    endpoint_failed
        True where the endpoint gave no reply at all.
    """

    records: Records | None
    complaint: str = ""
    usage: Usage = _NOTHING
    endpoint_failed: bool = False


class Style(Protocol):
    """Asks about a passage in one call or in several."""

    @property
    def prompts(self) -> tuple[str, ...]:
        """The names of the prompts that it uses."""
        ...

    def conversations(self, chunk: Chunk, menu: Menu) -> list[list[Message]]:
        """Return what each call says, without what depends on the replies."""
        ...

    def hear(self, llm: LanguageModel, chunk: Chunk, menu: Menu, max_tokens: int, *, repair: bool) -> Heard:
        """Ask, and return what could be read of the replies; an endpoint's failure is not raised."""
        ...


def passage_language(text: str) -> Language:
    """Return the language to ask in: Chinese where a third of the letters are Chinese characters."""
    return "zh" if chinese_share(text) >= _CHINESE else "en"


def place_of(chunk: Chunk) -> str:
    """Return the title of a passage's document and the headings that it stands under, as one line."""
    parts = (" ".join(part.split()) for part in (chunk.title, chunk.heading))
    return " > ".join(filter(None, parts))


class Listener:
    """A language model whose replies are kept, for whoever can make something of the first one too.

    Parameters
    ----------
    llm
        Whoever is asked.

    Attributes
    ----------
    replies
        Their texts, oldest first.
    is_cut
        Whether the last one was cut. Whoever asks through this does not hear of it: a reply that can be read
        is to be continued, not asked for again.
    usage
        What they cost.
    """

    def __init__(self, llm: LanguageModel) -> None:
        self._llm = llm
        self.replies: list[str] = []
        self.is_cut = False
        self.usage = Usage()

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the next turn, and keep its text."""
        completion = self._llm.complete(messages, max_tokens=max_tokens, schema=schema)
        self.replies.append(completion.text)
        self.is_cut = completion.finish_reason == "length"
        self.usage += Usage.of(completion)
        return replace(completion, finish_reason="stop") if self.is_cut else completion
