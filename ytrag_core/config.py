"""Settings: pydantic models, built once at the edge and passed down."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints

__all__ = ["LLMSettings", "TreeSettings"]


class TreeSettings(BaseModel):
    """How the knowledge tree is built.

    Attributes
    ----------
    init : {"kmeans"}
        How a set of entities is first divided.
    weight : float
        Lambda, the share of the relations in phi; the rest is the cosine of the vectors.
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
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    init: Literal["kmeans"] = "kmeans"
    weight: float = Field(default=0.5, ge=0.0, le=1.0)
    merge_threshold: float = Field(default=0.7, ge=0.0, le=1.0)
    max_size: int = Field(default=100, ge=1)
    n_keywords: int = Field(default=5, ge=1)
    seed: int = Field(default=0, ge=0)
    max_clusters: int = Field(default=200, ge=2)
    sample_size: int = Field(default=16_384, ge=1)
    max_iterations: int = Field(default=10, ge=1)


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
