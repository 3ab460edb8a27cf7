"""Options that say what may be returned, and who reads it again: types, conditions, a reranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AttributeOption",
    "EntityTypeOption",
    "HardOption",
    "RelationOption",
    "RerankerOption",
    "RoutesOption",
    "WhereOption",
    "chosen_filters",
]

_PANEL = "Filters and reranking"

EntityTypeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--entity-type",
        metavar="TYPE",
        help="Rank what is about entities of this type higher; several are fine.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
RelationOption = Annotated[
    list[str] | None,
    typer.Option(
        "--relation",
        metavar="NAME",
        help="Rank facts of this relation higher, for example 'born in'.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
AttributeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--attribute",
        metavar="NAME",
        help="Rank values of this attribute higher, for example 'birth date'.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
HardOption = Annotated[
    bool,
    typer.Option("--hard", help="Return nothing but what is of these types.", rich_help_panel=_PANEL),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Only passages that meet it: 'year>=2020', document=report.pdf, 'title~foo', 'lang in en,zh'. "
        "Several are all met.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
RerankerOption = Annotated[
    Path | None,
    typer.Option(
        "--reranker",
        metavar="DIR",
        help="A cross-encoder (model.onnx and tokenizer.json) that reads the best 50 passages again.",
        show_default=False,
        rich_help_panel=_PANEL,
    ),
]
RoutesOption = Annotated[
    str | None,
    typer.Option(
        "--routes", metavar="A,B", help="Only these routes, for example dense,bm25.", show_default="all"
    ),
]


def chosen_filters(
    entity_type: Sequence[str] | None,
    relation: Sequence[str] | None,
    attribute: Sequence[str] | None,
    where: Sequence[str] | None,
    reranker: Path | None,
    *,
    hard: bool,
) -> dict[str, Any]:
    """Return what these options mean, as arguments of `KnowledgeBase.retrieve`.

    Raises
    ------
    QueryError
        A condition cannot be read.
    ConfigError
        `--hard` stands without any type.
    ModelError
        There is no cross-encoder in the folder.
    """
    from ytrag_core.errors import ConfigError
    from ytrag_core.retrieval.conditions import metadata_filter
    from ytrag_core.retrieval.type_filter import TypeFilter

    types = TypeFilter(
        entity_types=tuple(entity_type or ()),
        relations=tuple(relation or ()),
        attributes=tuple(attribute or ()),
        hard=hard,
    )
    if hard and not types:
        raise ConfigError("--hard arrived alone; it needs --entity-type, --relation or --attribute")
    chosen: dict[str, Any] = {"types": types or None, "where": metadata_filter(where)}
    if reranker is not None:
        from ytrag_core.embedding.cross_encoder import CrossEncoder

        chosen["reranker"] = CrossEncoder.load(reranker)
    return chosen
