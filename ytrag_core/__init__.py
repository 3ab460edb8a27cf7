"""ytrag: GraphRAG on ordinary CPUs.

The public names load on first use, so that importing the package starts no thread pool and compiles nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ytrag_core.agent.budget import Budget
    from ytrag_core.agent.conversation import Turn
    from ytrag_core.agent.model import Answer
    from ytrag_core.embedding.cross_encoder import CrossEncoder
    from ytrag_core.errors import YtragError
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.pipeline.report import BuildReport
    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.type_filter import TypeFilter

__all__ = [
    "Answer",
    "Budget",
    "BuildReport",
    "CrossEncoder",
    "Evidence",
    "KnowledgeBase",
    "Turn",
    "TypeFilter",
    "YtragError",
    "__version__",
]

__version__ = "0.1.0"

_HOMES = {
    "Answer": "ytrag_core.agent.model",
    "Budget": "ytrag_core.agent.budget",
    "BuildReport": "ytrag_core.pipeline.report",
    "CrossEncoder": "ytrag_core.embedding.cross_encoder",
    "Evidence": "ytrag_core.retrieval.model",
    "KnowledgeBase": "ytrag_core.knowledge_base",
    "Turn": "ytrag_core.agent.conversation",
    "TypeFilter": "ytrag_core.retrieval.type_filter",
    "YtragError": "ytrag_core.errors",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
