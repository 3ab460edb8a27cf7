"""The command `ytrag explain`: why a passage is among the evidence, or why it is not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from ytrag_core.cli_filters import FilterOptions
from ytrag_core.cli_groups import with_groups
from ytrag_core.cli_options import JsonOption, KbOption, QuestionArgument
from ytrag_core.console import emit_json, printable, stdout_console
from ytrag_core.environment import open_base

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ytrag_core.retrieval.explain import ChunkExplanation, Explanation

__all__ = ["explain"]

_N_FACTS = 5
_N_PATHS = 3
_N_SEEDS = 8


@with_groups
def explain(
    question: QuestionArgument,
    kb: KbOption,
    *,
    chunk: Annotated[
        str | None,
        typer.Option("--chunk", metavar="ID", help="Only this passage.", show_default="the best ones"),
    ] = None,
    top_k: Annotated[int, typer.Option("--top-k", min=1, help="How many passages to explain.")] = 5,
    filters: FilterOptions,
    as_json: JsonOption = False,
) -> None:
    """Tell why passages are found: each route's rank, score and share, the names, facts, paths and seeds."""
    from ytrag_core.documents.text import clean_text

    chosen = filters.chosen()
    told = open_base(kb).explain(clean_text(question), chunk, top_k=top_k, **chosen)
    if as_json:
        emit_json(told.to_json())
    else:
        show_explanation(stdout_console(), told)


def show_explanation(console: Console, told: Explanation) -> None:
    """Print why the evidence of a question is as it is."""
    from ytrag_core.console import note
    from ytrag_core.rendering import INDENT, brief, heading, say

    console.print(Text(printable(told.question), style="bold cyan"))
    if told.read_as:
        say(console, f"read as: {told.read_as}", indent=INDENT, style="dim")
    for line in told.notes:
        note(line)
    heading(console, "Names in the question")
    if not told.names:
        say(console, "none that the graph knows", indent=INDENT, style="dim")
    for name in told.names:
        meant = f" = {', '.join(map(brief, name.names))}" if name.names else ""
        say(console, f"{name.weight:6.1%}  {brief(name.surface)}{meant}", indent=INDENT)
    if told.seeds:
        heading(console, f"Where the walk starts ({told.n_seeds:,} places)")
        for seed in told.seeds[:_N_SEEDS]:
            kind = "passage " if seed.kind == "chunk" else ""
            say(console, f"{seed.mass:6.1%}  {kind}{brief(seed.name)}", indent=INDENT)
    distrusted = [f"{route} {trust:.0%}" for route, trust in told.trust.items() if trust < 1.0]
    if distrusted:
        say(console, f"trusted only in part: {', '.join(distrusted)}", indent=INDENT, style="dim")
    for passage in told.chunks:
        _passage(console, passage)
    if not told.chunks:
        say(console, "no passage was found", indent=INDENT)


def _passage(console: Console, passage: ChunkExplanation) -> None:
    from ytrag_core.rendering import INDENT, brief, fact_text, heading, more, say, show_path

    place = "not put forward by any route" if passage.rank is None else f"{passage.score:.3f}"
    label = "" if passage.rank is None else f"{passage.rank}. "
    heading(console, f"{label}{brief(passage.title) or brief(passage.id)}  {brief(passage.id)}  {place}")
    width = max((len(route) for route in passage.routes), default=0)
    for route, share in passage.routes.items():
        rank = f"rank {share.rank}" if share.rank is not None else "no rank"
        score = f", score {share.score:.4g}" if share.score is not None else ""
        say(console, f"{share.contribution:+8.3f}  {route:<{width}}  {rank}{score}", indent=INDENT)
    if passage.seed_mass:
        say(console, f"{passage.seed_mass:.1%} of all walks start here", indent=INDENT)
    if passage.names:
        say(console, f"mentions {_joined(passage.names)}", indent=INDENT)
    for fact in passage.triples[:_N_FACTS]:
        say(console, f"states {fact_text(fact)}  {fact.score:.3f}", indent=INDENT)
    more(console, len(passage.triples) - _N_FACTS)
    for path in passage.paths[:_N_PATHS]:
        say(console, f"on the path  {path.score:.3f}", indent=INDENT)
        show_path(console, path.triples)
    more(console, len(passage.paths) - _N_PATHS)


def _joined(names: Sequence[str]) -> str:
    from ytrag_core.rendering import brief

    return ", ".join(map(brief, dict.fromkeys(names)))
