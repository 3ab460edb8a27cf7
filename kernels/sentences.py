"""Which sentences hold which words: those that state a fact, and those that bear on a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import boolean, float64, int32, int64, uint32

from .decorator import kernel, ro, rw

if TYPE_CHECKING:
    from numpy.typing import NDArray

N_GROUPS = 5
"""Groups of needles of a triple: head, tail, the parts of the head, of the tail and of the relation."""

PART_WEIGHT = 0.5
RELATION_WEIGHT = 0.5
WHOLE = 2.0


@kernel((uint32, ro(boolean)))
def joins(code: int, letters: NDArray[np.bool_]) -> bool:
    """Return whether a character is a letter or digit that words are spelt with.

    Parameters
    ----------
    code : uint32
    letters : (n,) bool
        Of each code point below n; those from n on are none.

    Notes
    -----
    One comparison, one byte read.
    """
    return bool(code < letters.shape[0] and letters[code])


@kernel(
    (
        ro(uint32), int64, int64, ro(int32), ro(int64), ro(int32), int64, int64, ro(uint32), int64, int64,
        ro(boolean), float64, rw(float64),
    )
)  # fmt: skip
def add_where_held(
    text: NDArray[np.uint32],
    start: int,
    stop: int,
    places: NDArray[np.int32],
    bucket_start: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    first_sentence: int,
    last_sentence: int,
    needle: NDArray[np.uint32],
    needle_start: int,
    needle_stop: int,
    letters: NDArray[np.bool_],
    weight: float,
    out_scores: NDArray[np.float64],
) -> bool:
    """Add a weight to each sentence of a passage that holds a needle.

    Parameters
    ----------
    text : (n,) uint32
        Code points.
    start, stop : int
        Where the passage lies in it.
    places, bucket_start : (n,) int32 and (257,) int64
        Places in the text, those of the passage by the low byte of their code point, ascending in each
        bucket, and where its buckets begin.
    sentence_start : (n_sentences,) int32
        Where sentences begin in their passage, ascending in each.
    first_sentence, last_sentence : int
        Which of them are the passage's, end exclusive; at least one.
    needle : (m,) uint32
        Code points.
    needle_start, needle_stop : int
        Where the needle lies in it; beside its own letters no other letter may stand.
    letters : (n_codes,) bool
        As `joins` takes them.
    weight : float
        What is added, once a sentence.
    out_scores : (at least last_sentence - first_sentence,) float64

    Returns
    -------
    bool
        Whether any sentence holds it.

    Notes
    -----
    One comparison for a character that is in the bucket of the needle's first one.
    """
    size = needle_stop - needle_start
    if size == 0:
        return False
    opens = joins(needle[needle_start], letters)
    closes = joins(needle[needle_stop - 1], letters)
    sentence, last_found = first_sentence, -1
    bucket = int(needle[needle_start] & np.uint32(255))
    beyond = start
    for slot in range(bucket_start[bucket], bucket_start[bucket + 1]):
        at = int(places[slot])
        if at < beyond or at + size > stop:
            continue
        is_same = True
        for i in range(size):
            if text[at + i] != needle[needle_start + i]:
                is_same = False
                break
        if not is_same:
            continue
        beyond = at + size
        within = (opens and at > start and joins(text[at - 1], letters)) or (
            closes and beyond < stop and joins(text[beyond], letters)
        )
        if not within:
            while sentence + 1 < last_sentence and sentence_start[sentence + 1] <= at - start:
                sentence += 1
            if sentence != last_found:
                out_scores[sentence - first_sentence] += weight
                last_found = sentence
    return bool(last_found >= 0)


@kernel(
    (
        ro(uint32), int64, int64, ro(int32), ro(int64), ro(int32), int64, int64, ro(uint32), ro(int64),
        ro(boolean), ro(int32), int64, int64, float64, rw(float64),
    )
)  # fmt: skip
def add_group(
    text: NDArray[np.uint32],
    start: int,
    stop: int,
    places: NDArray[np.int32],
    bucket_start: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    first_sentence: int,
    last_sentence: int,
    needle: NDArray[np.uint32],
    needle_indptr: NDArray[np.int64],
    letters: NDArray[np.bool_],
    group_needles: NDArray[np.int32],
    begin: int,
    end: int,
    weight: float,
    out_scores: NDArray[np.float64],
) -> bool:
    """Add to each sentence of a passage the share of a group of needles that it holds.

    Parameters
    ----------
    text, start, stop, places, bucket_start, sentence_start, first_sentence, last_sentence, needle, letters
        As `add_where_held` takes them.
    needle_indptr : (n_needles + 1,) int64
        Where the needles lie.
    group_needles : (n,) int32 in [0, n_needles)
        Needles of groups.
    begin, end : int
        Which of them are the group.
    weight : float
        What the whole group counts.
    out_scores : (at least last_sentence - first_sentence,) float64

    Returns
    -------
    bool
        Whether any sentence holds any of them.

    Notes
    -----
    One pass over the passage for each needle.
    """
    is_found = False
    for i in range(begin, end):
        wanted = int(group_needles[i])
        is_held = add_where_held(
            text, start, stop, places, bucket_start, sentence_start, first_sentence, last_sentence,
            needle, needle_indptr[wanted], needle_indptr[wanted + 1], letters,
            weight / (end - begin), out_scores,
        )  # fmt: skip
        is_found = is_found or is_held
    return is_found


@kernel((ro(uint32), int64, int64, rw(int32), rw(int64)))
def into_buckets(
    text: NDArray[np.uint32],
    start: int,
    stop: int,
    out_places: NDArray[np.int32],
    out_bucket_start: NDArray[np.int64],
) -> None:
    """Sort the places of a passage by the low byte of the character there.

    Parameters
    ----------
    text : (n,) uint32
        Code points.
    start, stop : int in [0, n]
        Where the passage lies in it.
    out_places : (n,) int32
        Written from `start` to `stop`: places in the text, ascending in each bucket.
    out_bucket_start : (257,) int64
        Where each bucket begins in `out_places`, and where the last one ends.

    Notes
    -----
    A counting sort: 12 bytes a character, twice read.
    """
    out_bucket_start[:] = 0
    for at in range(start, stop):
        out_bucket_start[int(text[at] & np.uint32(255)) + 1] += 1
    out_bucket_start[0] = start
    for bucket in range(256):
        out_bucket_start[bucket + 1] += out_bucket_start[bucket]
    filled = out_bucket_start[:256].copy()
    for at in range(start, stop):
        bucket = int(text[at] & np.uint32(255))
        out_places[filled[bucket]] = at
        filled[bucket] += 1


@kernel((ro(float64), int64, float64, rw(int32)))
def keep_best(scores: NDArray[np.float64], n: int, least_share: float, out_kept: NDArray[np.int32]) -> None:
    """Write the positions of the one or two best scores, ascending, -1 where there are fewer.

    Parameters
    ----------
    scores : (at least n,) float64, not negative
    n : int, at least 1
    least_share : float
        Share of the best score that the second one needs; the best has to be above 0 for a second.
    out_kept : (2,) int32

    Notes
    -----
    Two passes; of equal scores the earlier one.
    """
    best, second = 0, -1
    for i in range(1, n):
        if scores[i] > scores[best]:
            best = i
    for i in range(n):
        if i != best and (second < 0 or scores[i] > scores[second]):
            second = i
    if second < 0 or scores[best] <= 0.0 or scores[second] < least_share * scores[best]:
        out_kept[0], out_kept[1] = best, -1
    else:
        out_kept[0], out_kept[1] = min(best, second), max(best, second)


@kernel(
    (
        ro(uint32), ro(int64), ro(int64), ro(int32), ro(uint32), ro(int64), ro(boolean),
        ro(int32), ro(int64), ro(int32), ro(int32), ro(int32), ro(float64), int64,
    )
)  # fmt: skip
def telling_sentences(
    text: NDArray[np.uint32],
    text_indptr: NDArray[np.int64],
    sentence_indptr: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    needle: NDArray[np.uint32],
    needle_indptr: NDArray[np.int64],
    letters: NDArray[np.bool_],
    group_needles: NDArray[np.int32],
    group_indptr: NDArray[np.int64],
    stated_triple: NDArray[np.int32],
    stated_passage: NDArray[np.int32],
    words: NDArray[np.int32],
    word_weight: NDArray[np.float64],
    n_shown: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Choose the sentences that state facts, and those that bear on a question.

    Parameters
    ----------
    text, text_indptr : (n,) uint32 and (n_passages + 1,) int64
        Code points of all passages, in lower case.
    sentence_indptr, sentence_start : (n_passages + 1,) int64 and (n_sentences,) int32
        Where the sentences of each passage begin in it.
    needle, needle_indptr : (m,) uint32 and (n_needles + 1,) int64
        Words, in lower case.
    letters : (n_codes,) bool
        As `joins` takes them.
    group_needles, group_indptr : int32 and (5 * n_triples + 1,) int64
        Needles of each triple, in five groups as `N_GROUPS` says.
    stated_triple, stated_passage : (n_stated,) int32
        Triples and the passages that state them; the first of a passage's triples need not be its first.
    words, word_weight : (n_words,) int32 and float64
        Needles of the question and how much each tells.
    n_shown : int in [0, n_passages]
        How many passages, from the first, are asked for sentences that bear on the question.

    Returns
    -------
    stating : (n_stated, 2) int32
        Sentences of the passage, ascending, -1 where there are fewer. An end that is written out counts 1;
        where it is not, the share of its parts counts half. The share of the relation's parts counts half.
        Two are given only where both name both ends and are equal; none where neither end is named.
    bearing : (n_shown, 2) int32
        Sentences, likewise; by the weights of the words that they hold, plus the mean weight for each fact
        that they state. A second one has at least half of the best one's.

    Raises
    ------
    ValueError
        If an index is out of range.

    Notes
    -----
    The characters of each passage are put into 256 buckets once; then a needle costs a comparison for each
    character in its first one's bucket.
    """
    n_passages, n_needles = text_indptr.shape[0] - 1, needle_indptr.shape[0] - 1
    n_triples = (group_indptr.shape[0] - 1) // N_GROUPS
    if text_indptr[n_passages] > text.shape[0] or sentence_indptr[n_passages] > sentence_start.shape[0]:
        raise ValueError("passages or sentences end behind their arrays")
    if n_shown < 0 or n_shown > n_passages or sentence_indptr.shape[0] != n_passages + 1:
        raise ValueError("more passages are shown than there are")
    if needle_indptr[n_needles] > needle.shape[0] or group_indptr[-1] > group_needles.shape[0]:
        raise ValueError("needles or groups end behind their arrays")
    asked_for = np.concatenate((group_needles, words))
    if asked_for.shape[0] > 0 and (asked_for.min() < 0 or asked_for.max() >= n_needles):
        raise ValueError("a needle is out of range")
    places = np.empty(text.shape[0], np.int32)
    buckets = np.empty((n_passages, 257), np.int64)
    for passage in range(n_passages):
        into_buckets(text, text_indptr[passage], text_indptr[passage + 1], places, buckets[passage])
    most_sentences = np.int64(1)
    for passage in range(n_passages):
        most_sentences = max(most_sentences, sentence_indptr[passage + 1] - sentence_indptr[passage])
    scores, named = np.empty(most_sentences), np.empty(most_sentences)
    n_stating = np.zeros(sentence_start.shape[0], np.int64)
    stating = np.full((stated_triple.shape[0], 2), -1, np.int32)
    for slot in range(stated_triple.shape[0]):
        triple, passage = int(stated_triple[slot]), int(stated_passage[slot])
        if triple < 0 or triple >= n_triples or passage < 0 or passage >= n_passages:
            raise ValueError("a triple or a passage is out of range")
        first, last = sentence_indptr[passage], sentence_indptr[passage + 1]
        n = last - first
        if n == 0:
            continue
        scores[:n] = 0.0
        for end in range(2):
            whole = N_GROUPS * triple + end
            if not add_group(
                text, text_indptr[passage], text_indptr[passage + 1], places, buckets[passage],
                sentence_start, first, last,
                needle, needle_indptr, letters, group_needles, group_indptr[whole], group_indptr[whole + 1],
                1.0, scores,
            ):  # fmt: skip
                add_group(
                    text, text_indptr[passage], text_indptr[passage + 1], places, buckets[passage],
                sentence_start, first, last,
                    needle, needle_indptr, letters,
                    group_needles, group_indptr[whole + 2], group_indptr[whole + 3], PART_WEIGHT, scores,
                )  # fmt: skip
        named[:n] = scores[:n]
        relation = N_GROUPS * triple + 4
        add_group(
            text, text_indptr[passage], text_indptr[passage + 1], places, buckets[passage],
                sentence_start, first, last,
            needle, needle_indptr, letters,
            group_needles, group_indptr[relation], group_indptr[relation + 1], RELATION_WEIGHT, scores,
        )  # fmt: skip
        for i in range(n):
            if named[i] == 0.0:
                scores[i] = 0.0
        if named[:n].max() == 0.0:
            continue
        keep_best(scores, n, 1.0, stating[slot])
        if named[stating[slot, 0]] < WHOLE:
            stating[slot, 1] = -1
        for i in range(2):
            if stating[slot, i] >= 0:
                n_stating[first + stating[slot, i]] += 1
    mean = word_weight.sum() / max(words.shape[0], 1)
    bearing = np.full((n_shown, 2), -1, np.int32)
    for passage in range(n_shown):
        first, last = sentence_indptr[passage], sentence_indptr[passage + 1]
        n = last - first
        if n == 0:
            continue
        scores[:n] = 0.0
        for i in range(words.shape[0]):
            add_where_held(
                text, text_indptr[passage], text_indptr[passage + 1], places, buckets[passage],
                sentence_start, first, last,
                needle, needle_indptr[int(words[i])], needle_indptr[int(words[i]) + 1], letters,
                word_weight[i], scores,
            )  # fmt: skip
        for i in range(n):
            scores[i] += mean * n_stating[first + i]
        keep_best(scores, n, 0.5, bearing[passage])
    return stating, bearing
