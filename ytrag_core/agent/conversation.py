"""Follow-up questions: what of a conversation they need, and how they are made to stand for themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ytrag_core.agent.context import cut_to
from ytrag_core.errors import LLMError
from ytrag_core.llm.chat import strip_reasoning
from ytrag_core.llm.tokens import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.agent.calls import Caller
    from ytrag_core.agent.dialogue import Dialogue

__all__ = ["Turn", "history_text", "needs_history", "rewritten", "with_last_question"]

_REPLY_TOKENS = 200
_SHARE = 0.25
"""Of the time that is left, what rewriting a question may take."""
_NAMES_TOKENS = 80
_ANSWER_SHARE = 0.5
_POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|theirs|there|then|this|that|these|those|one|ones"
    r"|former|latter|same|another|other|else|too|also|instead)\b"
    r"|[他她它]|那[里儿个位些时座本条年]?|这[里儿个位些时座本条年]?|其|该|此|前者|后者|同一|另外|还有",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\A\s*(?:and|but|so|what about|how about|then|or|那么?|那|还|又|以及|呢)", re.IGNORECASE
)
_NAME = re.compile(r"(?<!\A)(?<![.!?] )\b[A-Z][^\W_]+|《[^》]+》|\d{3,}")
_SHORT = 6
_LABEL = re.compile(r"\A\W*(?:question|rewritten question|问题|改写后的问题)\s*[:：]\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was asked, and what was answered."""

    question: str
    answer: str


def needs_history(question: str) -> bool:
    """Return whether a question points back: by a pronoun, by how it opens, or because it names nothing."""
    if _POINTING.search(question) or _OPENING.match(question):
        return True
    words = re.findall(r"[^\W_]+", question)
    has_name = _NAME.search(question) is not None
    is_chinese = any("\u4e00" <= character <= "\u9fff" for character in question)
    return not has_name and len(question if is_chinese else words) < _SHORT


def history_text(history: Sequence[Turn], max_tokens: int) -> str:
    """Return the newest turns of a conversation that fit, oldest first, long answers cut.

    Parameters
    ----------
    history
        Oldest first.
    max_tokens
        Budget, as `estimate_tokens` counts.
    """
    kept: list[str] = []
    left = max_tokens
    for turn in reversed(history):
        most = max(20, int(max_tokens * _ANSWER_SHARE) // (1 + len(kept)))
        question = cut_to(" ".join(turn.question.split()), most)
        text = f"- {question}\n  {cut_to(' '.join(turn.answer.split()), most)}"
        left -= estimate_tokens(text) + 1
        if left < 0:
            break
        kept.append(text)
    return "\n".join(reversed(kept))


def with_last_question(question: str, history: Sequence[Turn]) -> str:
    """Return a follow-up question with the one before it, for retrieval without a model."""
    if not history or not needs_history(question):
        return question
    return f"{history[-1].question.strip()} {question}"


def rewritten(
    question: str, history: Sequence[Turn], dialogue: Dialogue, caller: Caller, max_tokens: int
) -> str:
    """Return a question that can be understood without the conversation before it.

    Parameters
    ----------
    question
        The follow-up; one that points to nothing before it costs no call.
    history
        Oldest first.
    dialogue, caller
        Write the prompt and ask within the budget.
    max_tokens
        What of the history may be shown.

    Raises
    ------
    BudgetReached
        The call does not fit.
    """
    if not history or not needs_history(question):
        return question
    told = history_text(history, max_tokens)
    if not told:
        return with_last_question(question, history)
    try:
        reply = caller.ask(
            "decompose",
            "rewrite",
            dialogue.rewrite(question, told),
            max_tokens=_REPLY_TOKENS,
            share=_SHARE,
        )
    except LLMError:
        return with_last_question(question, history)
    lines = [line.strip() for line in strip_reasoning(reply.text).splitlines() if line.strip()]
    text = _LABEL.sub("", lines[-1]).strip().strip('"“”「」') if lines else ""
    # Names are put in, nothing else: what is far longer is no rewriting.
    most = min(_REPLY_TOKENS, 3 * estimate_tokens(question) + _NAMES_TOKENS)
    return text if text and estimate_tokens(text) <= most else with_last_question(question, history)
