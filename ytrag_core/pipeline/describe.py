"""Names and summaries of a build's communities: by the language model as far as it goes, else by rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ytrag_core.storage.descriptions import Descriptions
from ytrag_core.tree.summaries import CommunityNamer

if TYPE_CHECKING:
    from ytrag_core.graph.tables import GraphTables
    from ytrag_core.pipeline.plan import ExtractionPlan
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.storage.snapshot import SnapshotWriter
    from ytrag_core.tree.model import KnowledgeTree

__all__ = ["COMMUNITIES", "Described", "community_table", "describe_communities"]

_STAGE = "community names"


COMMUNITIES = pa.schema(
    [
        ("id", pa.int32()),
        ("level", pa.int32()),
        ("parent", pa.int32()),
        ("name", pa.string()),
        ("summary", pa.string()),
        ("centre", pa.int32()),
        ("keywords", pa.list_(pa.int32())),
        ("size", pa.int32()),
        ("is_leaf", pa.bool_()),
    ]
)


@dataclass(frozen=True, slots=True)
class Described:
    """The names and summaries of all communities, in the order of their ids, and what a model was asked.

    Attributes
    ----------
    names, summaries
        One a community; a summary is empty where no model wrote one.
    spent
        {described, llm_calls, prompt_tokens, completion_tokens}; None where no model was asked.
    notes
        What its user should know.
    """

    names: list[str]
    summaries: list[str]
    spent: dict[str, int] | None = None
    notes: tuple[str, ...] = ()


def describe_communities(
    writer: SnapshotWriter,
    tree: KnowledgeTree,
    graph: GraphTables,
    recorder: StageRecorder,
    plan: ExtractionPlan | None,
) -> Described:
    """Return the name and the summary of every community.

    Parameters
    ----------
    writer
        The open writer, which remembers what models wrote.
    tree
        The communities, with their names by rules.
    graph
        What they are made of.
    recorder
        Times the stage.
    plan
        Whether and how a model is asked; None for not.
    """
    names, summaries = list(tree.names), [""] * tree.n_communities
    known = Descriptions(writer.meta.database)
    asking = plan is not None and plan.names_communities
    if (plan is not None and plan.summaries is False) or not (asking or known):
        return Described(names, summaries)
    with recorder.stage(_STAGE) as stage:
        if plan is not None and plan.models is not None and asking:
            model = plan.models.model("summarise")
            namer = CommunityNamer(
                known,
                model,
                model.identity.partition(" at ")[0],
                max_tokens=plan.settings.community_tokens,
                n_calls=min(plan.settings.concurrency, tree.n_communities or 1),
                prompts=plan.models.prompts,
            )
        else:
            namer = CommunityNamer(known)
        naming = namer.name(tree, graph, recorder.callback(_STAGE))
        stage.items = len(naming.descriptions)
    for community, description in naming.descriptions.items():
        names[community], summaries[community] = description.name, description.summary
    if not asking:
        return Described(names, summaries)
    notes = (f"some communities keep names by rules: {naming.complaint}",) if naming.complaint else ()
    return Described(names, summaries, {"described": naming.n_new, **naming.usage.to_json()}, notes)


def community_table(tree: KnowledgeTree, described: Described) -> pa.Table:
    """Return the table of communities, of the schema `COMMUNITIES`."""
    is_leaf = np.zeros(tree.n_communities, bool)
    is_leaf[tree.leaf] = True
    return pa.table(
        [
            np.arange(tree.n_communities, dtype=np.int32),
            tree.level,
            tree.parent,
            described.names,
            described.summaries,
            tree.centre,
            pa.ListArray.from_arrays(tree.keywords_indptr.astype(np.int32), pa.array(tree.keywords)),
            tree.size,
            is_leaf,
        ],
        schema=COMMUNITIES,
    )
