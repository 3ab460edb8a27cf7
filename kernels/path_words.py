"""How far the words of chains of relations are those that a question asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import float32, int32, uint64

from .decorator import kernel, ro

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel((uint64, uint64, ro(uint64), ro(float32)))
def covered_by(
    words: np.uint64, covered: np.uint64, word_places: NDArray[np.uint64], word_weight: NDArray[np.float32]
) -> tuple[np.uint64, np.float32]:
    """Cover one further place of each of a relation's words in the question.

    Parameters
    ----------
    words : uint64
        The relation's words, a bit each.
    covered : uint64
        Places of the question that are covered already, a bit each.
    word_places, word_weight : (n_words,) uint64 and float32
        The places of each word in the question; what one counts.

    Returns
    -------
    covered, gained : uint64, float32
        The places covered now, and what the new ones count: a word that is asked for once counts once.

    Notes
    -----
    A few operations a word.
    """
    gained = np.float32(0)
    for word in range(word_places.shape[0]):
        if (words >> np.uint64(word)) & np.uint64(1):
            free = word_places[word] & ~covered
            if free != np.uint64(0):
                covered |= free & (~free + np.uint64(1))
                gained += word_weight[word]
    return covered, gained


@kernel(
    (
        ro(uint64), ro(float32), ro(uint64), ro(float32), float32,
        ro(int32, 2), ro(int32), ro(uint64), ro(float32), ro(float32),
    )
)  # fmt: skip
def step_words(
    relation_words: NDArray[np.uint64],
    relation_said: NDArray[np.float32],
    word_places: NDArray[np.uint64],
    word_weight: NDArray[np.float32],
    asked: np.float32,
    steps: NDArray[np.int32],
    owner: NDArray[np.int32],
    covered: NDArray[np.uint64],
    matched: NDArray[np.float32],
    said: NDArray[np.float32],
) -> tuple[NDArray[np.float32], NDArray[np.uint64], NDArray[np.float32], NDArray[np.float32]]:
    """Compare the words of paths, each prolonged by a step, with those that are asked for.

    Parameters
    ----------
    relation_words, relation_said : (n_relations,) uint64 and float32
        The words of the question that each relation has, a bit each; what all its words count.
    word_places, word_weight : (n_words,) uint64 and float32
        As `covered_by` takes them, at most 64.
    asked : float32
        What all the places together count.
    steps : (n_steps, 3) int32
        Triple, relation and next node.
    owner : (n_steps,) int32 in [0, n_paths)
        The path that each step prolongs.
    covered, matched, said : (n_paths,) uint64, float32 and float32
        Places of the question that the words of a path's relations cover, what these count, what all the
        words count.

    Returns
    -------
    agreement : (n_steps,) float32 in [0, 1]
        The F1 of a path's words with the step's, and of those that are asked for.
    covered, matched, said : (n_steps,) uint64, float32 and float32
        Of the path with the step.

    Raises
    ------
    ValueError
        If a step or a relation is out of range, or there are more than 64 words.

    Notes
    -----
    Some 50 bytes a step, and a few operations for each of its words.
    """
    n_steps, n_paths = steps.shape[0], covered.shape[0]
    if word_places.shape[0] > 64:
        raise ValueError("words must be at most 64")
    agreement, now_covered = np.empty(n_steps, np.float32), np.empty(n_steps, np.uint64)
    now_matched, now_said = np.empty(n_steps, np.float32), np.empty(n_steps, np.float32)
    for step in range(n_steps):
        path, relation = owner[step], steps[step, 1]
        if path < 0 or path >= n_paths:
            raise ValueError("a step prolongs no path")
        if relation < 0 or relation >= relation_words.shape[0]:
            raise ValueError("a step is outside the graph")
        now, gained = covered_by(relation_words[relation], covered[path], word_places, word_weight)
        now_covered[step] = now
        now_matched[step] = matched[path] + gained
        now_said[step] = said[path] + relation_said[relation]
        agreement[step] = np.float32(2) * now_matched[step] / max(asked + now_said[step], np.float32(1e-12))
    return agreement, now_covered, now_matched, now_said
