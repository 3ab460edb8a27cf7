"""Runs of a language model over documents: who built which tower, and how a test has them read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.bases import table_rows, write_lines
from tests.reading_endpoint import Asked, ReadingServer, facts_of
from ytrag_core.config import BuildSettings, ExtractionSettings, LLMSettings
from ytrag_core.knowledge_base import KnowledgeBase
from ytrag_core.llm.stages import StageModels
from ytrag_core.pipeline.plan import ExtractionPlan

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.plan import ExtractorName
    from ytrag_core.pipeline.report import BuildReport

PEOPLE = (
    "Ada Marrick",
    "Tom Pell",
    "Rufina Stell",
    "Bastian Orrel",
    "Perrin Dask",
    "Nora Quade",
    "Lucan Ferrow",
)


def tower(person: str) -> str:
    return f"{person.split()[1]} Tower"


def passage(person: str) -> str:
    return f"{person} built the {tower(person)}. It stands on a hill."


def built_by(kb: Path) -> set[str]:
    """Return who built what, as the model says it; rules find other words."""
    entities = [row["name"] for row in table_rows(kb, "entities")]
    relations = [row["name"] for row in table_rows(kb, "relations")]
    return {
        entities[row["head"]] for row in table_rows(kb, "triples") if relations[row["relation"]] == "built"
    }


def write_passages(folder: Path) -> Path:
    """Write one document for each of the people, and return the file."""
    rows = [{"id": f"d{n}", "title": f"Doc {n}", "text": passage(who)} for n, who in enumerate(PEOPLE)]
    return write_lines(folder / "docs.jsonl", rows)


def models(server: ReadingServer | str, **settings: Any) -> StageModels:
    url = server if isinstance(server, str) else server.base_url
    chosen: dict[str, Any] = {"timeout": 60.0, "max_retries": 0, **settings}
    return StageModels.of_endpoint(LLMSettings(base_url=url, model="reader", **chosen))


def plan(
    server: ReadingServer | str | None, extractor: ExtractorName = "auto", **more: Any
) -> ExtractionPlan:
    names = ("rules", "retry_failed", "summaries", "models")
    given: dict[str, Any] = {"summaries": False, **{name: more.pop(name) for name in names if name in more}}
    given.setdefault("models", None if server is None else models(server))
    return ExtractionPlan(extractor, settings=ExtractionSettings(**more), **given)


def index(
    kb: Path,
    encoder: Encoder,
    plan: ExtractionPlan | None,
    *sources: Path,
    schema: str | None = None,
    settings: BuildSettings | None = None,
) -> BuildReport:
    return KnowledgeBase.build(kb, sources, encoder=encoder, plan=plan, schema=schema, settings=settings)


def own_words(asked: Asked) -> dict[str, Any]:
    said = facts_of(asked.passage)
    for triple in said["relations"]:
        triple["relation"] = "raised"
    return said
