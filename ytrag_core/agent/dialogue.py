"""The prompts of the agent, each cut to its limit before it is sent."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ytrag_core.agent.context import Context, build_context, cut_to
from ytrag_core.agent.decomposition import MAX_SUB_QUESTIONS
from ytrag_core.agent.language import phrase
from ytrag_core.agent.plan import filled
from ytrag_core.llm.chat import Message
from ytrag_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ytrag_core.agent.context import Fact
    from ytrag_core.agent.state import State
    from ytrag_core.llm.language import Language
    from ytrag_core.retrieval.model import ChunkHit
    from ytrag_core.schema.model import GraphSchema

__all__ = ["Dialogue", "prompt_tokens"]

_TOKENS_A_TURN = 8
"""What an endpoint's template puts around a message, at most."""
_QUESTION_SHARE = 0.25
_PROGRESS_SHARE = 0.25
_REPLY_SHARE = 0.5
_CLAIMS_SHARE = 0.3


def prompt_tokens(messages: Sequence[Message]) -> int:
    """Return the length of a prompt, as it is held against a limit."""
    return sum(estimate_tokens(message.content) + _TOKENS_A_TURN for message in messages)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Writes prompts in one language within one limit.

    Attributes
    ----------
    language
        The language of the prompts.
    limit
        Longest prompt, in tokens.
    text
        Name of a prompt and language -> its text.
    """

    language: Language
    limit: int
    text: Callable[[str, Language], str]

    def decompose(self, question: str, schema: GraphSchema | None) -> list[Message]:
        """Return the prompt that has a question taken apart, with examples in turns."""
        examples = _turns(self._text("decompose_example").format())
        types = [kind.name for kind in schema.entity_types] if schema is not None else []
        separator = "、" if self.language == "zh" else ", "

        def written(n_types: int) -> list[Message]:
            names = separator.join(types[:n_types]) or phrase("none", self.language)
            system = self._text("decompose").format(most=MAX_SUB_QUESTIONS, types=names)
            return [
                Message("system", system),
                *examples,
                Message("user", self._cut_question(question)),
            ]

        n_types = len(types)
        while n_types and prompt_tokens(written(n_types)) > self.limit:
            n_types //= 2
        return self._held(written(n_types))

    def think(
        self, state: State, chunks: Sequence[ChunkHit], facts: Sequence[Fact]
    ) -> tuple[list[Message], Context]:
        """Return the prompt of a thought, and the passages that are in it."""
        system = Message(
            "system", self._text("think").format(knowledge=self._text(f"think_{state.mode}").format())
        )
        question = self._cut_question(state.question)
        query = " ".join((*state.current, state.question))

        def user(context: Context) -> Message:
            return Message(
                "user",
                self._text("think_evidence")
                .format(
                    facts=context.facts or phrase("none", self.language),
                    passages=context.passages or phrase("none", self.language),
                    question=question,
                    progress=self._progress(state, context),
                )
                .rstrip(),
            )

        return self._fitted(system, user, chunks, facts, query)

    def answer(
        self, mode: str, question: str, marker: str, chunks: Sequence[ChunkHit], facts: Sequence[Fact]
    ) -> tuple[list[Message], Context]:
        """Return the prompt that has a question answered in plain text in one call."""
        system = Message("system", self._text(f"answer_{mode}").format(marker=marker))
        shown = self._cut_question(question)

        def user(context: Context) -> Message:
            return Message(
                "user",
                self._text("evidence").format(
                    passages=context.passages or phrase("none", self.language),
                    facts=context.facts or phrase("none", self.language),
                    question=shown,
                ),
            )

        return self._fitted(system, user, chunks, facts, question)

    def reform(self, question: str, reply: str, schema: dict[str, Any]) -> list[Message]:
        """Return the prompt that has a reply of the wrong form written again."""
        example = json.dumps(_example(schema), ensure_ascii=False)
        text = self._text("reform").format(
            form=example,
            reply=cut_to(reply, int(self.limit * _REPLY_SHARE)) or phrase("none", self.language),
            question=self._cut_question(question),
        )
        return self._held([Message("user", text)])

    def judge(
        self, question: str, claims: Sequence[str], chunks: Sequence[ChunkHit]
    ) -> tuple[list[Message], Context]:
        """Return the prompt that has claims held against passages."""
        system = Message("system", self._text("judge").format())
        listed = "\n".join(f"{number}. {' '.join(claim.split())}" for number, claim in enumerate(claims, 1))
        shown = cut_to(listed, int(self.limit * _CLAIMS_SHARE))
        asked = cut_to(question, int(self.limit * _QUESTION_SHARE / 2))

        def user(context: Context) -> Message:
            passages = context.passages or phrase("none", self.language)
            text = self._text("judge_claims").format(passages=passages, question=asked, claims=shown)
            return Message("user", text)

        return self._fitted(system, user, chunks, [], " ".join(claims))

    def rewrite(self, question: str, history: str) -> list[Message]:
        """Return the prompt that has a follow-up question made to stand for itself."""
        user = self._text("rewrite_history").format(history=history, question=self._cut_question(question))
        return self._held([Message("system", self._text("rewrite").format()), Message("user", user)])

    def _text(self, name: str) -> str:
        return self.text(name, self.language)

    def _cut_question(self, question: str) -> str:
        return cut_to(question, int(self.limit * _QUESTION_SHARE))

    def _fitted(
        self,
        system: Message,
        user: Callable[[Context], Message],
        chunks: Sequence[ChunkHit],
        facts: Sequence[Fact],
        query: str,
    ) -> tuple[list[Message], Context]:
        """Return the prompt with as much evidence as fits."""
        empty = prompt_tokens([system, user(Context("", "", ()))])
        left = self.limit - empty
        while True:
            context = build_context(chunks, facts, max_tokens=max(0, left), query=query)
            messages = [system, user(context)]
            over = prompt_tokens(messages) - self.limit
            if over <= 0 or left <= 0:
                return self._held(messages), context
            left -= over

    def _held(self, messages: list[Message]) -> list[Message]:
        """Return a prompt that keeps to the limit whatever a user's own prompt texts add to it."""
        if prompt_tokens(messages) <= self.limit:
            return messages
        rest = prompt_tokens(messages[:-1]) + _TOKENS_A_TURN
        last = messages[-1]
        if rest >= self.limit:
            return self._held([*messages[1:-1], last]) if len(messages) > 1 else []
        return [*messages[:-1], Message(last.role, cut_to(last.content, self.limit - rest))]

    def _progress(self, state: State, context: Context) -> str:
        """Return what is known and what is open, in a quarter of the limit at most."""
        language = self.language
        numbers = {chunk_id: number for number, chunk_id in enumerate(context.chunk_ids, 1)}
        lines: list[str] = []
        if not state.plan.is_simple:
            lines.append(phrase("sub_questions", language))
            for sub in state.plan.subs:
                finding = state.findings.get(sub.number)
                text = f"{sub.number}. {cut_to(filled(sub.question, state.answers), 80)}"
                if finding is None:
                    lines.append(f"{text} - {phrase('open', language)}")
                    continue
                shown = [str(numbers[chunk_id]) for chunk_id in finding.chunk_ids if chunk_id in numbers]
                source = f" [{', '.join(shown)}]" if shown else ""
                lines.append(f"{text} - {cut_to(finding.answer, 60)}{source}")
        if state.step and state.asked:
            queries = "; ".join(cut_to(query, 60) for query in dict.fromkeys(state.asked[-8:]))
            lines.append(f"{phrase('looked_up', language)} {queries}")
        known = cut_to("\n".join(lines), int(self.limit * _PROGRESS_SHARE))
        last = phrase(f"last_{state.mode}", language) if state.is_last else ""
        return "\n".join(part for part in (known, last) if part)


def _turns(examples: str) -> list[Message]:
    """Return examples as turns: a blank line between two, in each the first line is asked."""
    turns = []
    for example in re.split(r"\n\s*\n", examples.strip()):
        asked, _, replied = example.partition("\n")
        turns += [Message("user", asked), Message("assistant", replied)]
    return turns


def _example(schema: dict[str, Any]) -> Any:
    """Return a value of a JSON Schema's form that shows its fields."""
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: _example(part) for name, part in schema.get("properties", {}).items()}
    if kind == "array":
        return [_example(schema["items"])]
    return {"integer": 1, "boolean": True}.get(str(kind), "...")
