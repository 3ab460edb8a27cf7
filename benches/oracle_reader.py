"""A reader that answers a sub-question only when its gold passage is before it, to measure the agent alone.

It goes through the real loop, prompts and budgets as a language model does: it is given messages, and knows
of the question what they say. What it knows beside them is the recorded decomposition of every question.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.llm.chat import Completion, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Hop", "OracleReader", "read_hops"]

_PLACE = re.compile(r"#(\d)")
_HEAD = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Hop:
    """A sub-question with its recorded answer and the passage that states it."""

    question: str
    answer: str
    passage_id: str

    @property
    def needs(self) -> list[int]:
        """Numbers of the hops whose answers it needs."""
        return sorted({int(number) for number in _PLACE.findall(self.question)})


def read_hops(folder: Path) -> dict[str, list[Hop]]:
    """Return the recorded decomposition of every question of a MuSiQue folder."""
    hops: dict[str, list[Hop]] = {}
    for line in (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        hops[record["question"]] = [
            Hop(hop["question"].replace(" >> ", " "), hop["answer"], hop["supporting_id"])
            for hop in record["decomposition"]
        ]
    return hops


@dataclass
class OracleReader:
    """Replies as a perfect reader would.

    Attributes
    ----------
    hops
        Question -> its hops.
    passages
        Passage id -> its text.
    decomposes
        False: it takes nothing apart and asks for one hop after the other as its own new query.
    reached
        Question -> numbers of the hops that it has answered.
    prompts
        Every prompt that it was given.
    """

    hops: Mapping[str, Sequence[Hop]]
    passages: Mapping[str, str]
    decomposes: bool = True
    reached: dict[str, set[int]] = field(default_factory=dict)
    prompts: list[list[Message]] = field(default_factory=list)

    def complete(
        self, messages: Sequence[Message], *, max_tokens: int, schema: Mapping[str, Any] | None = None
    ) -> Completion:
        """Return the reply to a prompt."""
        self.prompts.append(list(messages))
        wanted = (schema or {}).get("properties", {})
        user = messages[-1].content
        if "sub_questions" in wanted:
            reply = self._decomposition(user)
        else:
            question = re.findall(r"^(?:Question: |问题：)(.+)$", user, re.MULTILINE)[-1]
            reply = self._thought(question, user)
        return Completion(json.dumps(reply, ensure_ascii=False))

    def _decomposition(self, question: str) -> dict[str, Any]:
        hops = self.hops[question] if self.decomposes else [Hop(question, "", "")]
        subs = [
            {"id": number, "question": hop.question, "needs": hop.needs, "types": [], "kind": "node"}
            for number, hop in enumerate(hops, 1)
        ]
        return {"sub_questions": subs}

    def _thought(self, question: str, user: str) -> dict[str, Any]:
        hops = self.hops[question]
        known = self.reached.setdefault(question, set())
        numbers = self._numbers(user)
        found: list[dict[str, Any]] = []
        for number, hop in enumerate(hops, 1):
            if number in known or not set(hop.needs) <= known:
                continue
            if hop.passage_id in numbers:
                known.add(number)
                found.append({"id": number, "answer": hop.answer, "passages": [numbers[hop.passage_id]]})
        reply: dict[str, Any] = {
            "thought": f"{len(known)} of {len(hops)} hops are answered",
            "found": found if self.decomposes else [],
            "decision": "search",
            "query": "",
            "answer": "",
            "passages": [numbers[hop.passage_id] for hop in hops if hop.passage_id in numbers],
        }
        if len(known) == len(hops):
            cited = "".join(f" [{number}]" for number in reply["passages"])
            return reply | {"decision": "answer", "answer": f"{hops[-1].answer}{cited}."}
        number = next(n for n, hop in enumerate(hops, 1) if n not in known and set(hop.needs) <= known)
        query = _PLACE.sub(lambda match: hops[int(match[1]) - 1].answer, hops[number - 1].question)
        if query in user:
            query = f"{query} ({question})"
        return reply | {"query": query}

    def _numbers(self, user: str) -> dict[str, int]:
        """Return the passages that stand whole in a prompt, and their numbers."""
        text = user
        numbers: dict[str, int] = {}
        starts = [(match.start(), int(match[1])) for match in _HEAD.finditer(text)]
        for place, (start, number) in enumerate(starts):
            end = starts[place + 1][0] if place + 1 < len(starts) else len(text)
            body = text[start:end].partition("\n")[2]
            passage_id = self._by_start.get(body[:60])
            if passage_id is not None and body.startswith(self.passages[passage_id].strip()):
                numbers[passage_id] = number
        return numbers

    def __post_init__(self) -> None:
        self._by_start = {text.strip()[:60]: passage_id for passage_id, text in self.passages.items()}
