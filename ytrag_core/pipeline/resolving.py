"""How a build resolves the names of its entities: by its settings, its encoder and what people decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ytrag_core.graph.resolution import Resolver
from ytrag_core.storage.entity_rules import forget_unfinished_rules, put_entity_rules, read_entity_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ytrag_core.config import BuildSettings
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.pipeline.report import StageRecorder
    from ytrag_core.pipeline.vectors import TextEncoder
    from ytrag_core.storage.entity_rules import EntityRule
    from ytrag_core.storage.snapshot import SnapshotWriter

__all__ = ["make_resolver"]


def make_resolver(
    writer: SnapshotWriter,
    text_encoder: TextEncoder,
    encoder: Encoder,
    settings: BuildSettings,
    recorder: StageRecorder,
    new_rules: Sequence[EntityRule] = (),
) -> Callable[[NDArray[np.int32]], Resolver]:
    """Return what makes the resolver of a build from the document of each of its chunks.

    Parameters
    ----------
    writer
        The open writer.
    text_encoder
        Encodes the names, which the build needs anyway.
    encoder
        Knows from which cosine two names may be one.
    settings
        How far names are resolved.
    recorder
        Shows how many names are encoded.
    new_rules
        What was decided now; it holds from this build on.
    """
    live = 0 if writer.previous is None else writer.previous.number
    forget_unfinished_rules(writer.meta, live)
    if new_rules:
        put_entity_rules(writer.meta, new_rules, live + 1)
    rules = read_entity_rules(writer.meta, live + 1)

    def encode(names: list[str]) -> NDArray[np.float16] | None:
        if len(names) > settings.resolve_names:
            return None
        return text_encoder.encode_ahead(names, recorder.callback("encode names")).vectors

    def resolver(document: NDArray[np.int32]) -> Resolver:
        return Resolver(
            settings.resolve,
            together=[(rule.first, rule.second) for rule in rules if rule.together],
            apart=[(rule.first, rule.second) for rule in rules if not rule.together],
            encode=encode,
            similarity=encoder.description.alias_similarity,
            document=document,
        )

    return resolver
