"""The command `ytrag retrieve`: what bears on a question, among what is asked for."""

from __future__ import annotations

from ytrag_core.cli_filters import (
    AttributeOption,
    EntityTypeOption,
    HardOption,
    RelationOption,
    RerankerOption,
    RoutesOption,
    WhereOption,
    chosen_filters,
)
from ytrag_core.cli_options import JsonOption, KbOption, QuestionArgument, TopKOption, comma_names
from ytrag_core.console import emit_json, stdout_console
from ytrag_core.environment import open_base

__all__ = ["EXAMPLE", "retrieve"]

EXAMPLE = '"Who taught the inventor of the fog clock?"'
"""A question of the built-in sample, for the end of a command's help."""


def retrieve(
    question: QuestionArgument,
    kb: KbOption,
    top_k: TopKOption = 20,
    routes: RoutesOption = None,
    entity_type: EntityTypeOption = None,
    relation: RelationOption = None,
    attribute: AttributeOption = None,
    hard: HardOption = False,
    where: WhereOption = None,
    reranker: RerankerOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the paths, facts, passages and communities that bear on a question."""
    from ytrag_core.documents.text import clean_text
    from ytrag_core.rendering import show_evidence

    chosen = chosen_filters(entity_type, relation, attribute, where, reranker, hard=hard)
    names = comma_names(routes, "--routes")
    evidence = open_base(kb).retrieve(clean_text(question), top_k=top_k, routes=names, **chosen)
    if as_json:
        emit_json(evidence.to_json())
    else:
        show_evidence(stdout_console(), evidence)
