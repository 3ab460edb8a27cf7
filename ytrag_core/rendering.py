"""Evidence and answers as a reader sees them on a terminal or in a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from ytrag_core.agent.highlight import highlights
from ytrag_core.agent.language import phrase
from ytrag_core.agent.linking import is_telling, linking_path
from ytrag_core.agent.paths import chain, node_name
from ytrag_core.console import printable
from ytrag_core.llm.language import question_language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from ytrag_core.agent.highlight import Highlight
    from ytrag_core.agent.model import Answer
    from ytrag_core.retrieval.model import Evidence, TripleHit

__all__ = [
    "INDENT",
    "brief",
    "fact_text",
    "heading",
    "more",
    "say",
    "show_answer",
    "show_evidence",
    "show_path",
]

_N_FACTS = 10
_N_PATHS = 3
_N_COMMUNITIES = 5
_MAX_EXCERPT = 400
_MAX_NAME = 200
INDENT = 2
"""Columns that the body of a section is moved in."""


def brief(name: str) -> str:
    """Return a name as it is shown: nothing that could steer a terminal, and no more than a few lines."""
    shown = printable(name)
    return shown if len(shown) <= _MAX_NAME else f"{shown[:_MAX_NAME].rstrip()} ..."


def fact_text(triple: TripleHit) -> str:
    """Return one fact, `A —relation→ B`, each name cut to what can be read."""
    head, tail = node_name((triple.head, triple.head_hint)), node_name((triple.tail, triple.tail_hint))
    return f"{brief(head)} —{brief(triple.relation)}→ {brief(tail)}"


def heading(console: Console, text: str) -> None:
    """Print the title of a section, a blank line above it."""
    console.print()
    console.print(Text(printable(text), style="bold"))


def say(console: Console, text: str | Text, *, indent: int = 0, style: str = "") -> None:
    """Print a text, wrapped, every line indented."""
    shown = text if isinstance(text, Text) else Text(printable(text), style=style)
    for line in shown.wrap(console, max(20, console.width - indent)):
        line.rstrip()
        console.print(Text(" " * indent) + line, soft_wrap=True)


def show_evidence(console: Console, evidence: Evidence) -> None:
    """Print what a retrieval found: paths, facts, passages, communities and the time it took."""
    console.print(Text(printable(evidence.question), style="bold cyan"))
    for told in evidence.notes:
        say(console, told, indent=INDENT, style="yellow")
    if evidence.paths:
        heading(console, "Paths")
        for path in evidence.paths[:_N_PATHS]:
            _scored(console, path.score, _path_text(path.triples))
    if evidence.triples:
        heading(console, "Facts")
        for triple in evidence.triples[:_N_FACTS]:
            _scored(console, triple.score, _fact_text(triple))
        more(console, len(evidence.triples) - _N_FACTS)
    if evidence.chunks:
        heading(console, "Passages")
        for place, shown in enumerate(
            highlights(evidence, n_passages=len(evidence.chunks), n_sentences=1), 1
        ):
            _passage(console, f"{place:>3}  ", shown, with_routes=True)
    if evidence.communities:
        heading(console, "Communities")
        for community in evidence.communities[:_N_COMMUNITIES]:
            _scored(console, community.score, Text(brief(community.name)))
    if not (evidence.paths or evidence.triples or evidence.chunks):
        say(console, phrase("nothing", question_language(evidence.question)))
    console.print()
    say(console, _timings(evidence.timings_ms), style="dim")


def show_path(console: Console, triples: Sequence[TripleHit]) -> None:
    """Print a chain of facts, one hop a line below its start."""
    at = None
    for start, relation, forward, end in chain(triples):
        if start != at:
            say(console, Text(brief(node_name(start)), style="cyan"), indent=INDENT)
        arrow = f"—{brief(relation)}→ " if forward else f"←{brief(relation)}— "
        hop = Text.assemble((arrow, "magenta"), (brief(node_name(end)), "cyan"))
        say(console, hop, indent=2 * INDENT)
        at = end


def show_answer(console: Console, answer: Answer, *, is_written: bool = False) -> None:
    """Print an answer with its sources; without a language model, the evidence in readable form.

    Parameters
    ----------
    console
        Where to.
    answer
        What `ask` returned.
    is_written
        Whether its text was printed while it was written.
    """
    evidence = answer.evidence
    by_model = bool(answer.steps and answer.usage.llm_calls) or bool(answer.usage_by_stage)
    if evidence is not None and answer.evidence_only:
        _readable_evidence(console, evidence, "no_answer")
        _remarks(console, answer)
    elif evidence is None or answer.refused or by_model:
        if not is_written:
            for paragraph in answer.answer.split("\n"):
                say(console, paragraph)
        if evidence is not None:
            _sources(console, answer, evidence)
        _remarks(console, answer)
    else:
        _readable_evidence(console, evidence)
    console.print()
    usage = answer.usage
    tokens = f"{usage.prompt_tokens:,} tokens read, {usage.completion_tokens:,} written; "
    say(console, (tokens if usage.llm_calls else "") + _timings(answer.timings_ms), style="dim")


def _sources(console: Console, answer: Answer, evidence: Evidence) -> None:
    found = {shown.chunk.id: shown for shown in highlights(evidence, n_passages=len(evidence.chunks))}
    if answer.citations:
        heading(console, "Sources")
    for number, chunk_id in enumerate(answer.citations, 1):
        if chunk_id in found:
            _passage(console, f" [{number}] ", found[chunk_id])


def _remarks(console: Console, answer: Answer) -> None:
    """Say what was taken out of an answer, what the model knew by itself, and why it is no better."""
    lines = []
    if answer.budget_reached:
        best = "" if answer.refused or answer.evidence_only else "; this is the best answer so far"
        lines.append(f"The budget was reached ({answer.budget_reached}){best}.")
    elif answer.stopped:
        lines.append(f"The search ended early: {answer.stopped}.")
    lines += [f"The model's own knowledge: {text}" for text in answer.own_knowledge]
    lines += [f"Taken out, nothing supports it: {text}" for text in answer.removed_claims]
    lines += [f"Citation removed: {one.citation} ({one.reason})" for one in answer.removed_citations]
    if lines:
        console.print()
    for line in lines:
        say(console, line, style="yellow")


def _readable_evidence(console: Console, evidence: Evidence, why: str = "no_model") -> None:
    language = question_language(evidence.question)
    console.print(Text(printable(evidence.question), style="bold cyan"))
    shown = highlights(evidence)
    path = linking_path(evidence)
    if is_telling(path, evidence.question):
        heading(console, phrase("path", language))
        show_path(console, path)
    if evidence.triples and not (shown and path):
        heading(console, phrase("facts", language))
        for triple in evidence.triples[:_N_FACTS]:
            say(console, _fact_text(triple), indent=INDENT)
    if shown:
        heading(console, phrase("passages", language))
        for number, highlight in enumerate(shown, 1):
            _passage(console, f" [{number}] ", highlight)
    console.print()
    say(console, phrase(why, language), style="yellow")


def _passage(console: Console, label: str, shown: Highlight, *, with_routes: bool = False) -> None:
    chunk = shown.chunk
    head = Text.assemble(
        (label, "dim"), (brief(chunk.title) or brief(chunk.id), "bold"), ("  ", ""), (brief(chunk.id), "dim")
    )
    place = ", ".join(part for part in (f"p. {chunk.page}" if chunk.page else "", chunk.heading) if part)
    if place:
        head.append(f"  {brief(place)}", "dim")
    if with_routes:
        routes = ", ".join(
            f"{route} {rank}" for route, rank in sorted(chunk.routes.items(), key=lambda r: r[1])
        )
        head.append(f"  {chunk.score:.3f}" + (f" ({routes})" if routes else ""), "green")
    say(console, head)
    text = " ".join(shown.sentences)
    shortened = text if len(text) <= _MAX_EXCERPT else f"{text[:_MAX_EXCERPT].rstrip()} ..."
    say(console, shortened, indent=len(label))


def _path_text(triples: Sequence[TripleHit]) -> Text:
    text = Text()
    at = None
    for start, relation, forward, end in chain(triples):
        if start != at:
            text.append("; " if text.plain else "").append(brief(node_name(start)), "cyan")
        text.append(f" —{brief(relation)}→ " if forward else f" ←{brief(relation)}— ", "magenta")
        text.append(brief(node_name(end)), "cyan")
        at = end
    return text


def _fact_text(triple: TripleHit) -> Text:
    text = Text(fact_text(triple))
    if triple.chunk_ids:
        rest = len(triple.chunk_ids) - 2
        sources = ", ".join(map(brief, triple.chunk_ids[:2])) + (f" and {rest} more" if rest > 0 else "")
        text.append(f"  [{sources}]", "dim")
    return text


def _scored(console: Console, score: float, text: Text) -> None:
    label = f"{score:7.3f}  "
    lines = text.wrap(console, max(20, console.width - len(label)))
    for number, line in enumerate(lines):
        line.rstrip()
        prefix = Text(label, "green") if number == 0 else Text(" " * len(label))
        console.print(prefix + line, soft_wrap=True)


def more(console: Console, n_more: int) -> None:
    """Say how many entries of a list are not shown."""
    if n_more > 0:
        say(console, f"... and {n_more:,} more (--json shows all)", indent=INDENT, style="dim")


def _timings(timings_ms: Mapping[str, float]) -> str:
    parts = ", ".join(f"{name} {value:.1f}" for name, value in timings_ms.items() if name != "total")
    total = timings_ms.get("total")
    return (f"{total:.1f} ms" if total is not None else "ms") + (f" ({parts})" if parts else "")
