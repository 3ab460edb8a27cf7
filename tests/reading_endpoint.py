"""A real chat server that reads passages: it replies like a model, or misbehaves as a test wants."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.chat_endpoint import Reply, answering, chat

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answer = Callable[["Asked"], Reply]

_FACT = re.compile(r"(\w+ \w+) built the (\w+ \w+)\.")


@dataclass(frozen=True)
class Asked:
    """One request: its last turn, all of its turns, and how often that last turn was asked so far."""

    text: str
    turns: list[dict[str, str]]
    body: dict[str, Any]
    n_before: int

    @property
    def passage(self) -> str:
        """The passage that it is about; empty where it is about none."""
        return self.text.rpartition("Passage:\n")[2] if "Passage:\n" in self.text else ""


@dataclass
class ReadingServer:
    """A running server, and what it was asked."""

    base_url: str
    asked: list[Asked] = field(default_factory=list)
    mutex: threading.Lock = field(default_factory=threading.Lock)

    def environment(self, **more: str) -> dict[str, str]:
        """Return what the command line has to be told."""
        return {"YTRAG_LLM_BASE_URL": self.base_url, "YTRAG_LLM_MODEL": "reader", **more}

    def passages(self) -> list[str]:
        """Return the passages that were sent, in order, repeats included."""
        return [asked.passage for asked in list(self.asked) if asked.passage]


def facts_of(passage: str) -> dict[str, Any]:
    """Return what a passage of `built` sentences says, in the form that is asked for."""
    found = _FACT.findall(passage)
    names = [(head, "person") for head, _ in found] + [(tail, "structure") for _, tail in found]
    return {
        "entities": [{"name": name, "type": kind, "aliases": []} for name, kind in names],
        "attributes": [],
        "relations": [{"head": head, "relation": "built", "tail": tail} for head, tail in found],
        "new_types": [],
    }


def reads(asked: Asked) -> Reply:
    """Reply as a good model does; communities are named by their number."""
    if asked.passage:
        return chat(json.dumps(facts_of(asked.passage)))
    numbers = [int(number) for number in re.findall(r"^\[(\d+)\]", asked.text, re.MULTILINE)]
    named = [{"id": n, "name": f"Group {n} of it", "summary": f"Summary {n}."} for n in numbers]
    return chat(json.dumps({"communities": named}))


@contextmanager
def reading_server(answer: Answer = reads) -> Iterator[ReadingServer]:
    """Serve `answer` for every request."""

    def reply(_: int, request: dict[str, Any]) -> Reply:
        turns = request["messages"]
        text = turns[-1]["content"]
        with reading.mutex:
            n_before = sum(1 for earlier in reading.asked if earlier.text == text)
            reading.asked.append(asked := Asked(text, turns, request, n_before))
        return answer(asked)

    reading = ReadingServer("")
    with answering(reply) as served:
        reading.base_url = served.base_url
        yield reading
