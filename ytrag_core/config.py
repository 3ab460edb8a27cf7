"""Settings: pydantic models, built once at the edge and passed down."""

from __future__ import annotations

import os
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, model_validator

__all__ = [
    "ROUTES",
    "BuildSettings",
    "EvolutionSettings",
    "ExtractionSettings",
    "LLMSettings",
    "RetrievalSettings",
    "TreeSettings",
    "available_cores",
]

ROUTES = ("entity", "triple", "community", "path", "ppr", "dense", "bm25", "bridge")
"""The routes of a retrieval; each can be switched and is reported by this name."""


class TreeSettings(BaseModel):
    """How the knowledge tree is built.

    Attributes
    ----------
    init : {"kmeans", "dual"}
        How a set of entities is first divided: by k-means on their vectors, or by Leiden on one graph of
        relations and similar names, weighted by phi; that one finds planted communities far better.
    weight : float
        Lambda, the share of the relations in phi; the rest is the cosine of the vectors.
    jaccard : {"relation", "neighbour"}
        What the relations of phi are compared by: (relation, direction), or (relation, direction, neighbour),
        the neighbourhood itself.
    merge_threshold : float
        Tau: two communities merge when the mean of phi(centre, other community), both ways, reaches it.
    max_size : int
        Communities above this many entities are divided again.
    n_keywords : int
        Entities named as keywords of a community, the centre first.
    seed : int
        Seed of every random draw.
    max_clusters : int
        Most clusters k-means makes in one division; below ten times as many entities it makes a tenth.
    sample_size : int
        Entities that k-means is fitted on; more are sampled, then all assigned once.
    max_iterations : int
        Most rounds of k-means.
    n_neighbours : int
        Entities that the graph of `dual` links each entity to: of some two dozen with similar names, those of
        the highest phi.
    resolution : float
        Of the modularity in `dual` from 20,000 entities up, in proportion below, at least 1: more gives more
        and smaller communities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    init: Literal["kmeans", "dual"] = "dual"
    weight: float = Field(default=0.5, ge=0.0, le=1.0)
    jaccard: Literal["relation", "neighbour"] = "relation"
    merge_threshold: float = Field(default=0.5, ge=0.0, le=1.0)
    max_size: int = Field(default=100, ge=1)
    n_keywords: int = Field(default=5, ge=1)
    seed: int = Field(default=0, ge=0)
    max_clusters: int = Field(default=200, ge=2)
    sample_size: int = Field(default=16_384, ge=1)
    max_iterations: int = Field(default=10, ge=1)
    n_neighbours: int = Field(default=5, ge=0)
    resolution: float = Field(default=10.0, gt=0.0)


class EvolutionSettings(BaseModel):
    """When a proposed type enters the graph schema of a knowledge base.

    Attributes
    ----------
    mode : {"off", "review", "auto"}
        `off`: nothing is proposed; `review`: proposals are kept until someone accepts or rejects them;
        `auto`: what passes the thresholds below enters at the end of a build's extraction.
    min_confidence : float
        Least mean confidence of the passages that propose it.
    min_chunks : int
        Least number of passages that propose it.
    min_documents : int
        Least number of documents that these are of; all, where the knowledge base holds fewer.
    similarity : float or None
        Cosine of two names from which they may be one type; by default the encoder's `alias_similarity`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Literal["off", "review", "auto"] = "review"
    min_confidence: float = Field(default=0.7, ge=0.0, le=1.0)
    min_chunks: int = Field(default=3, ge=1)
    min_documents: int = Field(default=2, ge=1)
    similarity: float | None = Field(default=None, ge=0.0, le=1.0)


class BuildSettings(BaseModel):
    """How a snapshot is built.

    Attributes
    ----------
    tree : TreeSettings
    max_tokens : int
        Longest chunk, in tokens of the encoder. What is longer than its window is encoded in several pieces.
    chunk_overlap : int
        Up to so many tokens of whole sentences at the end of a chunk open the next one too; at most half of
        `max_tokens`.
    sentence_triples : int
        Up to this many triples each is encoded as a sentence, which retrieves better; above, a triple is
        scored from the vectors of its parts.
    resolve : {"exact", "aliases", "similar"}
        Which names of extracted entities are one: those of one key (case, marks and spaces aside); also those
        of which the text says so, while homonyms of types that exclude each other are told apart; also
        variants of one name. A graph of `import edges` is never resolved: its ids are the identity.
    resolve_names : int
        Graphs with more names than this are resolved without their vectors as evidence.
    alias_neighbours : int
        Most similar names looked at for each name when alias edges are drawn.
    alias_names : int
        Graphs with more names than this get no alias edges.
    evolution : EvolutionSettings
        When a proposed type enters the graph schema.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tree: TreeSettings = TreeSettings()
    max_tokens: int = Field(default=240, ge=16, le=4096)
    chunk_overlap: int = Field(default=0, ge=0)
    sentence_triples: int = Field(default=300_000, ge=0)
    resolve: Literal["exact", "aliases", "similar"] = "similar"
    resolve_names: int = Field(default=300_000, ge=0)
    alias_neighbours: int = Field(default=20, ge=0)
    alias_names: int = Field(default=300_000, ge=0)
    evolution: EvolutionSettings = EvolutionSettings()

    @model_validator(mode="after")
    def _overlaps_half_at_most(self) -> Self:
        if 2 * self.chunk_overlap > self.max_tokens:
            raise ValueError(
                f"an overlap of {self.chunk_overlap} tokens arrived for chunks of {self.max_tokens}: at most "
                "half of a chunk may open the next one"
            )
        return self


class ExtractionSettings(BaseModel):
    """How a language model reads passages, and what that may cost.

    Attributes
    ----------
    style : {"chunk", "sentences"}
        One call for a whole passage; or, for small models, one a sentence, in which the model chooses among
        names found by rules and the relations of the schema.
    unknown_types : {"propose", "drop"}
        What becomes of types that the schema lacks: they are kept and proposed, or left out, with the
        relations and attributes that are of them.
    fallback : {"offline", "none"}
        What a passage has where the model has read it not yet or in vain: what rules find, or nothing.
    concurrency : int
        Calls at a time.
    max_types : int
        Most types of each kind that a prompt names; of more, those nearest to the passage.
    max_reply_tokens : int
        Longest reply to a passage.
    max_tokens : int or None
        Tokens, in and out, that a run may spend; it stops before the call that could exceed them.
    max_cost : float or None
        The same for money; needs prices.
    price_in, price_out : float or None
        For a million tokens, in any currency.
    community_tokens : int
        Tokens, in and out, that names and summaries of communities may take in a build.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    style: Literal["chunk", "sentences"] = "chunk"
    unknown_types: Literal["propose", "drop"] = "propose"
    fallback: Literal["offline", "none"] = "offline"
    concurrency: int = Field(default=8, ge=1, le=256)
    max_types: int = Field(default=40, ge=1)
    max_reply_tokens: int = Field(default=2048, ge=16)
    max_tokens: int | None = Field(default=None, ge=0)
    max_cost: float | None = Field(default=None, ge=0.0)
    price_in: float | None = Field(default=None, ge=0.0)
    price_out: float | None = Field(default=None, ge=0.0)
    community_tokens: int = Field(default=10_000, ge=0)


class RetrievalSettings(BaseModel):
    """How a question is answered from a snapshot; few numbers, each with one meaning.

    Attributes
    ----------
    n_facts : int
        Best triples that seed the walk.
    damping : float
        Probability that the walk goes on at each step.
    epsilon : float
        Residual per edge below which the walk is not followed.
    max_pushes : int
        Most pushes of one walk.
    mention_power : float
        A name in the question seeds the walk with its inverse document frequency to this power.
    common_noun_factor : float
        Factor of a name written all in lower case where another is capitalised ("country" beside "Chad").
    facts_share : float
        Mass that the ends of the best triples seed, beside 1 of the names in the question; less as far as the
        question does not tell triples apart.
    passage_share : float
        Mass that the best passages of each text route seed; by meaning likewise.
    n_candidates : int
        The quota of each route: passages that it may put forward, the walk twice as many.
    fusion : {"learned", "ranks"}
        How the routes become one ranking of passages: by a small linear model over features of passages, or
        by their ranks alone, without any weight.
    weights : mapping of str to float, optional
        Feature of a passage -> what it counts in `learned`; by default those that `ytrag tune` stored in the
        knowledge base, else those that come with ytrag. See `ytrag_core.retrieval.weights`.
    type_weight : float
        What a passage counts that is of the types which a soft filter names.
    n_reranked : int
        Best passages that a reranker reads, where there is one.
    rerank_weight : float
        What its score counts beside the fused one; 1 replaces it.
    beam : int
        Paths kept at each step of path search.
    max_hops : int
        Longest path.
    row_limit : int
        Edges of one node and direction that path search looks at; a longer row is sampled evenly.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    n_facts: int = Field(default=5, ge=1)
    damping: float = Field(default=0.7, gt=0.0, lt=1.0)
    epsilon: float = Field(default=3e-6, gt=0.0)
    max_pushes: int = Field(default=200_000, ge=1)
    mention_power: float = Field(default=2.0, ge=0.0)
    common_noun_factor: float = Field(default=0.1, ge=0.0, le=1.0)
    facts_share: float = Field(default=0.5, ge=0.0)
    passage_share: float = Field(default=0.1, ge=0.0)
    n_candidates: int = Field(default=100, ge=1)
    fusion: Literal["learned", "ranks"] = "learned"
    weights: dict[str, float] | None = None
    type_weight: float = Field(default=1.0, ge=0.0)
    n_reranked: int = Field(default=50, ge=1)
    rerank_weight: float = Field(default=0.5, ge=0.0, le=1.0)
    beam: int = Field(default=32, ge=1)
    max_hops: int = Field(default=3, ge=1, le=5)
    row_limit: int = Field(default=64, ge=1)


class LLMSettings(BaseModel):
    """An OpenAI-compatible chat endpoint.

    Attributes
    ----------
    base_url : str
        Up to and with the version, for example `http://localhost:11434/v1`.
    model : str
        The model's name as the endpoint knows it.
    api_key : SecretStr
        May be empty: local servers need none.
    timeout : float
        Seconds that one try may take to connect, and to be silent.
    max_retries : int
        Further tries after a time-out, a lost connection, a 429 or a 5xx, with growing pauses.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    base_url: Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^https?://[^\s/]+")]
    model: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
    api_key: SecretStr = SecretStr("")
    timeout: float = Field(default=60.0, gt=0)
    max_retries: int = Field(default=3, ge=0)


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
