"""A schema drafted from documents: a sample is read, with a language model or without, and summed up."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ytrag_core.llm.usage import Usage
from ytrag_core.pipeline.draft_offline import find_offline
from ytrag_core.pipeline.draft_sample import read_sample
from ytrag_core.pipeline.report import no_progress
from ytrag_core.pipeline.schema_in_force import type_judge
from ytrag_core.schema.draft import Draft, draft_schema, group_found
from ytrag_core.schema.load import load_schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ytrag_core.documents.model import Problem
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.llm.stages import StageModels
    from ytrag_core.pipeline.draft_sample import Sample
    from ytrag_core.pipeline.report import Progress
    from ytrag_core.schema.draft import Found
    from ytrag_core.schema.model import GraphSchema, TypeKind

__all__ = ["DraftReport", "induce_schema"]

_MAX_TOKENS = 240
_N_OFFLINE = 2000
_N_LLM = 48
_LEAST = 3
_MOST_GROUPED = 500
_MOST: dict[TypeKind, int] = {"entity": 24, "relation": 40, "attribute": 20}
_SEEDS = {"en": "general", "zh": "general_zh"}


@dataclass(frozen=True, slots=True)
class DraftReport:
    """A drafted schema and how it came to be.

    Attributes
    ----------
    draft
        The schema, and what speaks for each type.
    n_documents, n_passages
        How many documents there are, and how many passages were looked at.
    extractor : {"llm", "offline"}
    problems
        What could not be read, and which passages no usable reply came for.
    usage
        What the language model cost.
    """

    draft: Draft
    n_documents: int
    n_passages: int
    extractor: str
    problems: tuple[Problem, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def schema(self) -> GraphSchema:
        """The drafted schema."""
        return self.draft.schema

    def to_json(self) -> dict[str, Any]:
        """Return its JSON form."""
        return {
            "schema": self.schema.model_dump(mode="json"),
            "support": [each.to_json() for each in self.draft.support],
            "documents": self.n_documents,
            "passages": self.n_passages,
            "extractor": self.extractor,
            "problems": [{"source": problem.source, "reason": problem.reason} for problem in self.problems],
            "usage": self.usage.to_json(),
        }


def induce_schema(
    paths: Sequence[Path],
    encoder: Encoder,
    *,
    models: StageModels | None = None,
    n_passages: int | None = None,
    name: str = "draft",
    progress: Progress = no_progress,
) -> DraftReport:
    """Draft a schema from a sample of documents.

    Parameters
    ----------
    paths
        Files, folders, patterns and archives, as for `index`.
    encoder
        Counts tokens, and tells names of types apart.
    models
        The language models; without them the types are those that the offline extractor and the sentences
        themselves show.
    n_passages
        Size of the sample; by default 2,000 passages, 48 for a language model.
    name
        What the schema is called.
    progress
        Told of each stage.

    Raises
    ------
    DocumentError
        A path does not exist, or there is no text in any of them.
    LLMError
        The endpoint failed, or no reply was usable.
    """
    wanted = n_passages or (_N_OFFLINE if models is None else _N_LLM)
    sample = read_sample(paths, encoder.tokenizer, wanted, _MAX_TOKENS, progress)
    if models is not None:
        from ytrag_core.pipeline.draft_llm import draft_with_llm

        return draft_with_llm(sample, encoder, models, name, _MOST, progress)
    seed = load_schema(_SEEDS[sample.language])
    judge = type_judge(encoder)
    found = find_offline(sample.chunks, seed, progress)
    draft = draft_schema(
        {kind: group_found(_frequent(types), judge, seed) for kind, types in found.items()},
        name=name,
        language=sample.language,
        description=told(sample),
        most=_MOST,
        least=min(_LEAST, max(1, len(sample.chunks) // 10)),
    )
    return DraftReport(draft, sample.n_documents, len(sample.chunks), "offline", sample.problems)


def _frequent(types: Sequence[Found]) -> list[Found]:
    """Return the types that were seen at least twice, and of a great many the most frequent."""
    repeated = [one for one in types if one.count > 1] or list(types)
    return sorted(repeated, key=lambda one: (-one.count, one.name))[:_MOST_GROUPED]


def told(sample: Sample) -> str:
    """Return what a drafted schema says of itself, in the language of its passages."""
    if sample.language == "zh":
        return f"由{sample.n_documents}篇文档中的{len(sample.chunks)}个段落起草，请审阅。"
    return f"Drafted from {len(sample.chunks)} passages of {sample.n_documents} documents; to be reviewed."
