"""Names without a language model: the centre, another keyword and the most typical relation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ytrag_core.tree.profiles import Profiles

__all__ = ["community_name", "typical_codes"]

_NAMED_KEYWORDS = 2


def typical_codes(profiles: Profiles, background: NDArray[np.float64]) -> NDArray[np.int32]:
    """Return the (relation, direction) that is frequent in each community and rarer in the whole graph.

    Parameters
    ----------
    profiles : Profiles
        Of the communities.
    background : (n_codes,) float64
        Frequencies in the whole graph, none of them zero where a community has the code.

    Returns
    -------
    (n_communities,) int32
        Highest f * log(1 + f / background), the lower code where two are equal; -1 without triples.
    """
    frequencies = profiles.frequencies.astype(np.float64)
    scores = frequencies * np.log1p(frequencies / background[profiles.codes])
    codes = np.full(len(profiles.indptr) - 1, -1, np.int32)
    for community in range(len(codes)):
        start, stop = profiles.indptr[community], profiles.indptr[community + 1]
        if stop > start:
            codes[community] = profiles.codes[start + np.argmax(scores[start:stop])]
    return codes


def community_name(
    keywords: NDArray[np.int32], code: int, entity_names: Sequence[str], relation_names: Sequence[str]
) -> str:
    """Return a name such as ``Neil Young, Hank Snow: performer``.

    Parameters
    ----------
    keywords : (n,) int32
        Entities, the centre first.
    code : int
        ``2 * relation + direction``, or -1 for none.
    entity_names : sequence of str
    relation_names : sequence of str

    Returns
    -------
    str
        The centre's name, the next keyword's of another name, and the relation.
    """
    names: dict[str, None] = {}
    for entity in keywords:
        names.setdefault(str(entity_names[int(entity)]))
        if len(names) == _NAMED_KEYWORDS:
            break
    title = ", ".join(names)
    relation = str(relation_names[code // 2]).strip() if code >= 0 else ""
    return f"{title}: {relation}" if relation else title
