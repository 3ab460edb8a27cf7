"""The command `ytrag retrieve`: what bears on a question, among what is asked for."""

from __future__ import annotations

from ytrag_core.cli_filters import FilterOptions
from ytrag_core.cli_groups import with_groups
from ytrag_core.cli_options import JsonOption, KbOption, QuestionArgument, TopKOption
from ytrag_core.console import emit_json, stdout_console
from ytrag_core.environment import open_base

__all__ = ["EXAMPLE", "retrieve"]

EXAMPLE = '"Who taught the inventor of the fog clock?"'
"""A question of the built-in sample, for the end of a command's help."""


@with_groups
def retrieve(
    question: QuestionArgument,
    kb: KbOption,
    *,
    top_k: TopKOption = 20,
    filters: FilterOptions,
    as_json: JsonOption = False,
) -> None:
    """Find the paths, facts, passages and communities that bear on a question."""
    from ytrag_core.documents.text import clean_text
    from ytrag_core.rendering import show_evidence

    chosen = filters.chosen()
    evidence = open_base(kb).retrieve(clean_text(question), top_k=top_k, **chosen)
    if as_json:
        emit_json(evidence.to_json())
    else:
        show_evidence(stdout_console(), evidence)
