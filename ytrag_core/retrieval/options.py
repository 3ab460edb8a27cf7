"""What a caller may ask for beside the question: which types, which passages, who reads them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from ytrag_core.retrieval.conditions import Where
    from ytrag_core.retrieval.rerank import Reranker
    from ytrag_core.retrieval.type_filter import TypeFilter

__all__ = ["Filters"]


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
