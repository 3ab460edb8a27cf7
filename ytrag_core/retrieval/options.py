"""What a caller may ask: a question, and beside it which types, which passages, who reads them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from ytrag_core.errors import QueryError
from ytrag_core.retrieval.type_filter import TypeFilter

if TYPE_CHECKING:
    from ytrag_core.retrieval.conditions import Where
    from ytrag_core.retrieval.rerank import Reranker

__all__ = ["Filters", "check_filters", "check_question"]

_MAX_CHARACTERS = 20_000


class Filters(TypedDict, total=False):
    """Further arguments of `retrieve`, `retrieve_many` and `explain`; each may be left out.

    Attributes
    ----------
    types : TypeFilter
        Entity types, relations and attributes that are wanted: what is of them ranks higher, or, where the
        filter is hard, is all that is returned.
    where : str, Condition, MetadataFilter or several of the first two
        What passages must meet, for example `"year>=2020"` or `["lang in en,zh", "title~harbour"]`.
    reranker : Reranker
        Reads the question beside each of the best passages and ranks them anew, for example
        `ytrag_core.embedding.cross_encoder.CrossEncoder.load(folder)`.
    """

    types: TypeFilter | None
    where: Where | None
    reranker: Reranker | None


def check_filters(filters: Filters) -> None:
    """Refuse arguments that there are not, and such as are of another kind.

    Parameters
    ----------
    filters
        As a caller gives them.

    Raises
    ------
    QueryError
        One is unknown, or is no filter or reranker.
    """
    known = Filters.__annotations__
    unknown = [name for name in filters if name not in known]
    if unknown:
        raise QueryError(f"there is no option {unknown[0]!r}; choose from {', '.join(known)}")
    types, reranker = filters.get("types"), filters.get("reranker")
    if types is not None and not isinstance(types, TypeFilter):
        raise QueryError(f"types is of type {type(types).__name__}; make a TypeFilter(entity_types=...)")
    if reranker is not None and not callable(getattr(reranker, "score", None)):
        raise QueryError(
            f"the reranker is of type {type(reranker).__name__}; give one with score(question, passages), "
            "for example CrossEncoder.load(folder)"
        )


def check_question(question: str) -> None:
    """Refuse what is no question.

    Raises
    ------
    QueryError
        It is of another type, empty or far too long.
    """
    if not isinstance(question, str):
        raise QueryError(f"the question is of type {type(question).__name__}; ask in a string")
    if not question.strip():
        raise QueryError("the question is empty; ask something")
    if len(question) > _MAX_CHARACTERS:
        raise QueryError(
            f"the question has {len(question):,} characters, at most {_MAX_CHARACTERS:,} are read; shorten it"
        )
