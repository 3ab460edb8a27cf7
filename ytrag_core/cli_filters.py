"""Options that say what may be returned, and who reads it again: types, conditions, a reranker."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from ytrag_core.cli_options import comma_names
from ytrag_core.errors import ConfigError

__all__ = ["FilterOptions"]

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


@dataclass(frozen=True, slots=True)
class FilterOptions:
    """What may be returned for a question, and who reads it again."""

    routes: RoutesOption = None
    entity_type: EntityTypeOption = None
    relation: RelationOption = None
    attribute: AttributeOption = None
    hard: HardOption = False
    where: WhereOption = None
    reranker: RerankerOption = None

    def chosen(self) -> dict[str, Any]:
        """Return what they mean, as arguments of `KnowledgeBase.retrieve` and `KnowledgeBase.explain`.

        Raises
        ------
        QueryError
            A condition cannot be read.
        ConfigError
            `--hard` stands without any type, or `--routes` without any name.
        ModelError
            There is no cross-encoder in the folder.
        """
        from ytrag_core.retrieval.conditions import metadata_filter
        from ytrag_core.retrieval.type_filter import TypeFilter

        types = TypeFilter(
            entity_types=tuple(self.entity_type or ()),
            relations=tuple(self.relation or ()),
            attributes=tuple(self.attribute or ()),
            hard=self.hard,
        )
        if self.hard and not types:
            raise ConfigError("--hard arrived alone; it needs --entity-type, --relation or --attribute")
        chosen: dict[str, Any] = {"types": types or None, "where": metadata_filter(self.where)}
        if self.reranker is not None:
            from ytrag_core.embedding.cross_encoder import CrossEncoder

            chosen["reranker"] = CrossEncoder.load(self.reranker)
        return {**chosen, "routes": comma_names(self.routes, "--routes")}
