"""Fusion by hand: what each route adds, weighed and summed."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ytrag_core.config import ROUTES, RetrievalSettings
from ytrag_core.errors import ConfigError
from ytrag_core.retrieval.features import log_visits, passage_features, relative
from ytrag_core.retrieval.fusion import (
    TYPES,
    RouteChunks,
    best_chunks,
    fuse,
    likelihood,
    rank_parts,
    weigh,
)
from ytrag_core.retrieval.weights import (
    FEATURES,
    SIDE_FEATURES,
    TUNED_NAME,
    FusionWeights,
    fusion_in_force,
    with_tuned_weights,
)

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, np.float32)


def ints(*values: int) -> NDArray[np.int32]:
    return np.array(values, np.int32)


FOUND = {
    "ppr": RouteChunks(ints(7, 3), floats(0.4, 0.1)),
    "dense": RouteChunks(ints(3, 9), floats(0.8, 0.6)),
    "bm25": RouteChunks(ints(9), floats(0.2)),
    "path": RouteChunks(ints(3), floats(0.7)),
    "entity": RouteChunks(ints(9, 7), floats(0.5, 0.25)),
}
CANDIDATES = ints(3, 7, 9)
WEIGHTS = {
    "walk": 1.0,
    "names": 0.5,
    "words": 10.0,
    "title": 2.0,
    "question": 0.2,
    "residual": 0.3,
    "path": 2.0,
}


def features() -> dict[str, NDArray[np.float32]]:
    coverage, walked, from_names = np.zeros((3, 10), np.float32)
    coverage[9], walked[[3, 7]], from_names[[7, 9]] = 0.2, [0.1, 0.4], [0.5, 0.5]
    return passage_features(
        FOUND,
        CANDIDATES,
        {"path": 0.5, "dense": 0.5},
        coverage=coverage,
        titles=floats(0.0, 1.0, 0.25),
        walked=walked,
        from_names=from_names,
        resembling=(floats(1.5, -0.5, 1.0), floats(2.0, 0.0, 0.0)),
    )


def test_the_features_by_hand() -> None:
    values = {name: column.tolist() for name, column in features().items()}
    assert values.keys() == FEATURES.keys() - {"bridge"}
    assert values["walk"] == pytest.approx([9.0 + math.log(0.25), 9.0, 0.0])
    assert values["names"] == pytest.approx([0.0, 9.0, 9.0])
    assert values["words"] == pytest.approx([0.0, 0.0, 0.2 * 0.2])
    assert values["title"] == pytest.approx([0.0, 1.0, 0.25])
    assert values["question"] == pytest.approx([0.75, -0.25, 0.5])
    assert values["residual"] == pytest.approx([1.0, 0.0, 0.0])
    assert values["path"] == pytest.approx([0.5, 0.0, 0.0])


def test_triples_and_communities_count_where_they_are_alone() -> None:
    nothing = {"titles": None, "walked": None, "from_names": None, "resembling": None}
    found = {"triple": FOUND["entity"], "community": FOUND["dense"]}
    alone = passage_features(found, CANDIDATES, {"triple": 0.5}, coverage=floats(), **nothing)
    assert alone["triple"].tolist() == [0.0, 0.25, 0.5]
    assert alone["community"].tolist() == pytest.approx([1.0, 0.0, 0.75])
    among = passage_features({**FOUND, **found}, CANDIDATES, {}, coverage=np.zeros(10, np.float32), **nothing)
    assert "path" in among
    assert not among.keys() & SIDE_FEATURES.keys()


def test_the_sum_by_hand() -> None:
    parts = weigh(features(), WEIGHTS)
    assert parts.keys() == FOUND.keys()
    ranked = fuse(FOUND, parts, CANDIDATES, 3, features())
    wanted = {
        3: 9.0 + math.log(0.25) + 0.2 * 0.75 + 0.3 * 1.0 + 2.0 * 0.5,
        7: 9.0 + 4.5 + 2.0 * 1.0 - 0.2 * 0.25,
        9: 4.5 + 10.0 * 0.04 + 2.0 * 0.25 + 0.2 * 0.5,
    }
    assert ranked.rows.tolist() == [7, 3, 9]
    assert ranked.scores.tolist() == pytest.approx([wanted[7], wanted[3], wanted[9]], abs=1e-5)
    assert np.sum([*ranked.parts.values()], axis=0) == pytest.approx(ranked.scores, abs=1e-5)
    assert ranked.raw["bm25"].tolist() == pytest.approx([0.0, 0.0, 0.04])
    assert ranked.raw.keys() == FOUND.keys()
    assert ranked.routes == [
        {"ppr": 1, "entity": 2},
        {"ppr": 2, "dense": 1, "path": 1},
        {"dense": 2, "bm25": 1, "entity": 1},
    ]


def test_features_without_a_weight_and_routes_without_features_count_nothing() -> None:
    parts = weigh(features(), {"title": 1.0})
    assert np.sum([*parts.values()], axis=0).tolist() == [0.0, 1.0, 0.25]
    assert weigh({}, WEIGHTS) == {}


def test_a_bonus_is_a_part_of_its_own() -> None:
    ranked = fuse(FOUND, weigh(features(), WEIGHTS), CANDIDATES, 1, bonus=floats(0.0, 0.0, 50.0))
    assert ranked.rows.tolist() == [9]
    assert ranked.parts[TYPES].tolist() == [50.0]


def test_k_cuts_and_ties_go_to_the_lower_row() -> None:
    found = {"bm25": RouteChunks(ints(3, 7, 9), floats(1.0, 1.0, 1.0))}
    parts = {"bm25": np.ones(3)}
    assert fuse(found, parts, CANDIDATES, 2).rows.tolist() == [3, 7]
    assert fuse(found, parts, CANDIDATES, 9).rows.tolist() == [3, 7, 9]
    assert fuse(found, {}, CANDIDATES, 9).rows.tolist() == [3, 7, 9]


def test_nothing_found() -> None:
    ranked = fuse({"bm25": RouteChunks(ints(), floats())}, {"bm25": np.zeros(0)}, ints(), 5)
    assert (ranked.rows.tolist(), ranked.scores.tolist(), ranked.routes) == ([], [], [])
    assert likelihood({}, 0).tolist() == []
    assert relative(RouteChunks(ints(), floats()), CANDIDATES).tolist() == [0.0, 0.0, 0.0]
    assert log_visits(floats(0.0, 0.0), 0.0).tolist() == [0.0, 0.0]
    assert rank_parts({"bm25": RouteChunks(ints(), floats())}, ints(), {})["bm25"].tolist() == []


def test_ranks_alone_need_no_weight() -> None:
    parts = rank_parts(FOUND, CANDIDATES, {"dense": 0.5})
    assert parts["ppr"].tolist() == pytest.approx([5 / 6, 1.0, 0.0])
    assert parts["dense"].tolist() == pytest.approx([0.5, 0.0, 0.5 * 5 / 6])
    assert fuse(FOUND, parts, CANDIDATES, 3).rows.tolist() == [9, 3, 7]


def test_likelihood_is_a_softmax() -> None:
    found = likelihood({"a": np.array([0.0, math.log(2.0)]), "b": np.array([1.0, 1.0])}, 2)
    assert (found / found.sum()).tolist() == pytest.approx([1 / 3, 2 / 3])


def test_best_chunks_are_positive_and_sorted() -> None:
    best = best_chunks(floats(-1.0, 0.5, 0.0, 0.5, 0.7), 10, ints(1, 2, 5, 8, 9))
    assert best.rows.tolist() == [9, 2, 8]
    assert best.scores.tolist() == pytest.approx([0.7, 0.5, 0.5])
    assert best_chunks(floats(0.6, 0.5, 0.0), 1).rows.tolist() == [0]
    assert best_chunks(floats(), 3, ints()).rows.tolist() == []


def test_the_shipped_weights_are_few_and_speak_for_a_passage() -> None:
    shipped = FusionWeights.shipped()
    assert shipped.weights.keys() == FEATURES.keys() | SIDE_FEATURES.keys()
    assert set((FEATURES | SIDE_FEATURES).values()) == set(ROUTES)
    assert all(weight >= 0.0 for weight in shipped.weights.values())
    assert {"date", "version", "data", "figures"} <= shipped.report.keys()


def test_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    assert fusion_in_force(tmp_path, RetrievalSettings())["origin"] == "shipped"
    assert with_tuned_weights(tmp_path, RetrievalSettings()).weights is None
    own = FusionWeights({"walk": 2.0}, {"date": "2030-01-01"})
    own.write(tmp_path / TUNED_NAME)
    assert FusionWeights.read(tmp_path / TUNED_NAME) == own
    settings = with_tuned_weights(tmp_path, RetrievalSettings())
    assert settings.weights == {"walk": 2.0}
    in_force = fusion_in_force(tmp_path, settings)
    assert (in_force["origin"], in_force["date"], in_force["mode"]) == ("tuned", "2030-01-01", "learned")
    given = RetrievalSettings(weights={"walk": 3.0})
    assert with_tuned_weights(tmp_path, given) == given
    assert fusion_in_force(tmp_path, given)["origin"] == "given"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"format": 2, "weights": {}}',
        '{"format": 1, "weights": []}',
        '{"format": 1, "weights": {"luck": 1.0}}',
        '{"format": 1, "weights": {"walk": true}}',
        '{"format": 1, "weights": {"walk": NaN}}',
        '{"format": 1, "weights": {"walk": "1"}}',
    ],
)
def test_damaged_weights_say_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / TUNED_NAME).write_text(text)
    with pytest.raises(ConfigError, match="ytrag tune"):
        with_tuned_weights(tmp_path, RetrievalSettings())


def test_the_shipped_file_is_plain_json() -> None:
    json.dumps(FusionWeights.shipped().to_json(), allow_nan=False)
