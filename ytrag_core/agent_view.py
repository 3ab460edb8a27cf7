"""A question on its way to an answer, as a reader sees it: live on a terminal, or afterwards as a tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rich.text import Text
from rich.tree import Tree

from ytrag_core.agent.citations import rewrite_citations
from ytrag_core.agent.events import (
    AnswerPiece,
    Asked,
    Called,
    Checked,
    Decomposed,
    Done,
    Event,
    Problem,
    Retrieved,
    Rewritten,
    Thought,
)
from ytrag_core.console import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

__all__ = ["LiveAnswer", "same_text", "show_trace"]

_LONGEST_CITATION = 40
_MAX_LINE = 300
_SPACES = re.compile(r"\s+")


class LiveAnswer:
    """Prints events as they come: what is done on one console, the answer on another.

    Parameters
    ----------
    console
        Where the answer goes.
    aside
        Where everything else goes.

    Attributes
    ----------
    text
        The answer as it was printed last.
    """

    def __init__(self, console: Console, aside: Console) -> None:
        self.text = ""
        self._console = console
        self._aside = aside
        self._held = ""
        self._order: dict[int, int] = {}
        self._in_answer = False

    def __call__(self, event: Event) -> None:
        """Print an event."""
        if isinstance(event, AnswerPiece):
            self._piece(event.text)
            return
        self._end_line()
        line = _live_line(event)
        if line:
            self._aside.print(Text(printable(_shortened(line)), style="dim"), soft_wrap=True)

    def _piece(self, text: str) -> None:
        if not self._in_answer:
            self.text, self._held, self._order, self._in_answer = "", "", {}, True
        self._held += text
        start = self._held.rfind("[")
        is_open = 0 <= len(self._held) - start <= _LONGEST_CITATION and "]" not in self._held[start:]
        ready = self._held[:start].rstrip(" ") if start >= 0 and is_open else self._held
        self._held = self._held[len(ready) :]
        self._print(ready)

    def _print(self, text: str) -> None:
        shown = rewrite_citations(text, lambda number: self._order.setdefault(number, len(self._order) + 1))
        self.text += shown
        self._console.print(Text(printable(shown)), end="", soft_wrap=True)
        self._console.file.flush()

    def _end_line(self) -> None:
        if self._in_answer:
            self._print(self._held)
            self._held = ""
            self._console.print()
            self._in_answer = False


def same_text(text: str, other: str) -> bool:
    """Return whether two texts differ in white space at most."""
    return _SPACES.sub(" ", text).strip() == _SPACES.sub(" ", other).strip()


def _live_line(event: Event) -> str:
    match event:
        case Rewritten():
            return f"understood as: {event.question}"
        case Decomposed() if event.sub_questions:
            subs = "; ".join(f"{sub['id']}. {sub['question']}" for sub in event.sub_questions)
            return f"taken apart: {subs}"
        case Retrieved():
            queries = " | ".join(event.queries)
            return f"looked up: {queries} ({len(event.chunk_ids)} passages, {event.ms:.0f} ms)"
        case Thought():
            decided = f"{event.decision}: {event.query}" if event.query else event.decision
            return f"step {event.step}: {event.thought or '-'} -> {decided}"
        case Checked():
            unsupported = sum(not (claim["supported"] or claim["own"]) for claim in event.claims)
            if not (unsupported or event.removed):
                return ""
            parts = [f"{unsupported} of {len(event.claims)} claims unsupported"] if unsupported else []
            parts += [f"{len(event.removed)} citations removed"] if event.removed else []
            parts += [f"looking for: {event.query}"] if event.query else []
            return f"checked: {', '.join(parts)}"
        case Problem():
            return f"problem: {event.text}"
        case _:
            return ""


def show_trace(console: Console, events: Sequence[Event]) -> None:
    """Print the events of one question as a tree, with times and tokens."""
    asked = next((event for event in events if isinstance(event, Asked)), None)
    done = next((event for event in events if isinstance(event, Done)), None)
    head = Text(printable(asked.question if asked else "(a question without a beginning)"), style="bold cyan")
    if asked is not None:
        head.append(f"  {asked.mode}", "dim")
    root = Tree(head)
    step: Tree = root
    for event in events:
        if isinstance(event, Asked | Done):
            continue
        if isinstance(event, Retrieved):
            step = root.add(_label(event.at_ms, f"step {event.step}", "bold"))
        label = _node(event)
        branch = root if isinstance(event, Rewritten | Decomposed) else step
        node = branch.add(label)
        for line in _below(event):
            node.add(Text(printable(_shortened(line)), style="dim"))
    if done is not None:
        _add_answer(root, done)
    console.print(root)


def _add_answer(root: Tree, done: Done) -> None:
    answer = done.answer
    usage = answer.get("usage", {})
    cost = (
        f"{usage.get('llm_calls', 0)} calls, {usage.get('prompt_tokens', 0):,} tokens read, "
        f"{usage.get('completion_tokens', 0):,} written"
    )
    node = root.add(_label(done.at_ms, "refused" if answer.get("refused") else "answered", "bold green"))
    node.add(Text(printable(str(answer.get("answer", "")))))
    node.add(Text(cost, style="dim"))
    for name in (
        "citations",
        "own_knowledge",
        "removed_citations",
        "removed_claims",
        "budget_reached",
        "stopped",
    ):
        value = answer.get(name)
        if value:
            node.add(Text(printable(f"{name.replace('_', ' ')}: {_listed(value)}"), style="dim"))


def _listed(value: object) -> str:
    if not isinstance(value, list):
        return str(value)
    return "; ".join(
        f"{item.get('citation')} ({item.get('reason')})" if isinstance(item, dict) else str(item)
        for item in value
    )


def _label(at_ms: float, text: str, style: str = "") -> Text:
    return Text.assemble((f"{at_ms:,.0f} ms  ", "green"), (printable(_shortened(text)), style))


def _node(event: Event) -> Text:
    match event:
        case Called():
            tokens = f"{event.prompt_tokens:,} + {event.completion_tokens:,} tokens"
            text = f"{event.purpose} ({event.stage}): {event.ms:,.0f} ms, {tokens}"
            label = _label(event.at_ms, text, "magenta")
            return label.append(printable(f"  {_shortened(event.error)}"), "red") if event.error else label
        case AnswerPiece():
            return _label(event.at_ms, f"written: {event.text}")
        case Checked():
            held = sum(claim["supported"] for claim in event.claims)
            return _label(event.at_ms, f"checked: {held} of {len(event.claims)} claims supported")
        case Problem():
            return _label(event.at_ms, _live_line(event), "yellow")
        case Retrieved():
            text = f"looked up, {event.n_new} new, {event.ms:,.1f} ms"
            return _label(event.at_ms, text)
        case Decomposed():
            return _label(event.at_ms, f"taken apart into {len(event.sub_questions)}")
        case _:
            return _label(event.at_ms, _live_line(event))


def _below(event: Event) -> list[str]:
    match event:
        case Decomposed():
            lines = []
            for sub in event.sub_questions:
                kinds = ", ".join([str(sub["kind"]), *map(str, sub["types"])])
                needs = f" needs {', '.join(f'#{need}' for need in sub['needs'])}" if sub["needs"] else ""
                lines.append(f"{sub['id']}. {sub['question']} ({kinds}){needs}")
            return lines + [f"note: {text}" for text in event.notes]
        case Retrieved():
            return [*event.queries, f"passages: {', '.join(event.chunk_ids[:8])}"]
        case Thought():
            found = [
                f"found {one['id']}: {one['answer']} [{', '.join(one['chunk_ids'])}]" for one in event.found
            ]
            return [*found, f"read: {', '.join(event.chunk_ids[:8])}"]
        case Checked():
            lines = [
                f"{'own' if claim['own'] else 'yes' if claim['supported'] else 'no'}: {claim['text']} "
                f"[{', '.join(claim['chunk_ids'])}]"
                for claim in event.claims
            ]
            lines += [f"removed {one['citation']}: {one['reason']}" for one in event.removed]
            return lines + ([f"looking for: {event.query}"] if event.query else [])
        case _:
            return []


def _shortened(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MAX_LINE else f"{flat[:_MAX_LINE]}..."
