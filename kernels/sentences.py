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


@kernel((ro(uint32), rw(int32), rw(int64)))
def into_buckets(
    passage: NDArray[np.uint32], out_places: NDArray[np.int32], out_bucket_start: NDArray[np.int64]
) -> None:
    """Sort the places of a passage by the low byte of the character there.

    Parameters
    ----------
    passage : (n,) uint32
        Code points.
    out_places : (n,) int32
        Places in the passage, ascending in each bucket.
    out_bucket_start : (257,) int64
        Where each bucket begins in `out_places`, and where the last one ends.

    Notes
    -----
    A counting sort: 12 bytes a character, twice read.
    """
    out_bucket_start[:] = 0
    for at in range(passage.shape[0]):
        out_bucket_start[int(passage[at] & np.uint32(255)) + 1] += 1
    for bucket in range(256):
        out_bucket_start[bucket + 1] += out_bucket_start[bucket]
    filled = out_bucket_start[:256].copy()
    for at in range(passage.shape[0]):
        bucket = int(passage[at] & np.uint32(255))
        out_places[filled[bucket]] = at
        filled[bucket] += 1


@kernel((ro(uint32), ro(int32), ro(int64), ro(int32), ro(uint32), ro(boolean), float64, rw(float64)))
def add_where_held(
    passage: NDArray[np.uint32],
    places: NDArray[np.int32],
    bucket_start: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    needle: NDArray[np.uint32],
    letters: NDArray[np.bool_],
    weight: float,
    out_scores: NDArray[np.float64],
) -> bool:
    """Add a weight to each sentence of a passage that holds a needle.

    Parameters
    ----------
    passage : (n,) uint32
        Code points.
    places, bucket_start : (n,) int32 and (257,) int64
        As `into_buckets` writes them.
    sentence_start : (n_sentences,) int32, ascending
        Where its sentences begin; at least one.
    needle : (m,) uint32
        Code points; beside its own letters no other letter may stand.
    letters : (n_codes,) bool
        As `joins` takes them.
    weight : float
        What is added, once a sentence.
    out_scores : (at least n_sentences,) float64

    Returns
    -------
    bool
        Whether any sentence holds it.

    Notes
    -----
    One comparison for a character that is in the bucket of the needle's first one.
    """
    size, stop = needle.shape[0], passage.shape[0]
    if size == 0:
        return False
    opens, closes = joins(needle[0], letters), joins(needle[size - 1], letters)
    sentence, last_found = 0, -1
    bucket = int(needle[0] & np.uint32(255))
    beyond = 0
    for slot in range(bucket_start[bucket], bucket_start[bucket + 1]):
        at = int(places[slot])
        if at < beyond or at + size > stop:
            continue
        is_same = True
        for i in range(size):
            if passage[at + i] != needle[i]:
                is_same = False
                break
        if not is_same:
            continue
        beyond = at + size
        within = (opens and at > 0 and joins(passage[at - 1], letters)) or (
            closes and beyond < stop and joins(passage[beyond], letters)
        )
        if not within:
            while sentence + 1 < sentence_start.shape[0] and sentence_start[sentence + 1] <= at:
                sentence += 1
            if sentence != last_found:
                out_scores[sentence] += weight
                last_found = sentence
    return bool(last_found >= 0)


@kernel(
    (
        ro(uint32), ro(int32), ro(int64), ro(int32),
        ro(uint32), ro(int64), ro(boolean), ro(int32), float64, rw(float64),
    )
)  # fmt: skip
def add_share(
    passage: NDArray[np.uint32],
    places: NDArray[np.int32],
    bucket_start: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    needle: NDArray[np.uint32],
    needle_indptr: NDArray[np.int64],
    letters: NDArray[np.bool_],
    group: NDArray[np.int32],
    weight: float,
    out_scores: NDArray[np.float64],
) -> bool:
    """Add to each sentence of a passage the share of a group of needles that it holds.

    Parameters
    ----------
    passage, places, bucket_start, sentence_start, letters, out_scores
        As `add_where_held` takes them.
    needle, needle_indptr : (m,) uint32 and (n_needles + 1,) int64
        Code points of all needles, and where each lies in them.
    group : (n,) int32 in [0, n_needles)
        The needles of the group.
    weight : float
        What the whole group counts.

    Returns
    -------
    bool
        Whether any sentence holds any of them.

    Notes
    -----
    One pass over the bucket of each needle.
    """
    is_found = False
    for i in range(group.shape[0]):
        wanted = int(group[i])
        is_held = add_where_held(
            passage, places, bucket_start, sentence_start,
            needle[needle_indptr[wanted] : needle_indptr[wanted + 1]], letters,
            weight / group.shape[0], out_scores,
        )  # fmt: skip
        is_found = is_found or is_held
    return is_found


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
        ro(uint32), ro(int32), ro(int64), ro(int32),
        ro(uint32), ro(int64), ro(boolean), ro(int32), ro(int64), rw(float64), rw(float64), rw(int32),
    )
)  # fmt: skip
def choose_stating(
    passage: NDArray[np.uint32],
    places: NDArray[np.int32],
    bucket_start: NDArray[np.int64],
    sentence_start: NDArray[np.int32],
    needle: NDArray[np.uint32],
    needle_indptr: NDArray[np.int64],
    letters: NDArray[np.bool_],
    group_needles: NDArray[np.int32],
    groups: NDArray[np.int64],
    out_named: NDArray[np.float64],
    out_scores: NDArray[np.float64],
    out_kept: NDArray[np.int32],
) -> None:
    """Choose the sentences of a passage that state a triple.

    Parameters
    ----------
    passage, places, bucket_start, sentence_start, needle, needle_indptr, letters
        As `add_share` takes them; at least one sentence.
    group_needles, groups : int32 and (N_GROUPS + 1,) int64
        Needles, and where those of each of the triple's groups lie in them.
    out_named, out_scores : (at least n_sentences,) float64
        What naming the ends counts in each sentence; that and the relation, where it names an end.
    out_kept : (2,) int32
        Two sentences as `telling_sentences` returns them; left as it is where none names an end.
    """
    n = sentence_start.shape[0]
    out_named[:n] = 0.0
    for end in range(2):
        is_whole = add_share(
            passage, places, bucket_start, sentence_start, needle, needle_indptr, letters,
            group_needles[groups[end] : groups[end + 1]], 1.0, out_named,
        )  # fmt: skip
        if not is_whole:
            add_share(
                passage, places, bucket_start, sentence_start, needle, needle_indptr, letters,
                group_needles[groups[end + 2] : groups[end + 3]], PART_WEIGHT, out_named,
            )  # fmt: skip
    if out_named[:n].max() == 0.0:
        return
    out_scores[:n] = out_named[:n]
    add_share(
        passage, places, bucket_start, sentence_start, needle, needle_indptr, letters,
        group_needles[groups[4] : groups[5]], RELATION_WEIGHT, out_scores,
    )  # fmt: skip
    for i in range(n):
        if out_named[i] == 0.0:
            out_scores[i] = 0.0
    keep_best(out_scores, n, 1.0, out_kept)
    if out_named[out_kept[0]] < WHOLE:
        out_kept[1] = -1


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
    most_sentences = np.int64(1)
    for passage in range(n_passages):
        start, stop = text_indptr[passage], text_indptr[passage + 1]
        into_buckets(text[start:stop], places[start:stop], buckets[passage])
        most_sentences = max(most_sentences, sentence_indptr[passage + 1] - sentence_indptr[passage])
    named, scores = np.empty(most_sentences), np.empty(most_sentences)
    n_stating = np.zeros(sentence_start.shape[0], np.int64)
    stating = np.full((stated_triple.shape[0], 2), -1, np.int32)
    for slot in range(stated_triple.shape[0]):
        triple, passage = int(stated_triple[slot]), int(stated_passage[slot])
        if triple < 0 or triple >= n_triples or passage < 0 or passage >= n_passages:
            raise ValueError("a triple or a passage is out of range")
        start, stop = text_indptr[passage], text_indptr[passage + 1]
        first, last = sentence_indptr[passage], sentence_indptr[passage + 1]
        if first == last:
            continue
        choose_stating(
            text[start:stop], places[start:stop], buckets[passage], sentence_start[first:last],
            needle, needle_indptr, letters,
            group_needles, group_indptr[N_GROUPS * triple : N_GROUPS * (triple + 1) + 1],
            named, scores, stating[slot],
        )  # fmt: skip
        for i in range(2):
            if stating[slot, i] >= 0:
                n_stating[first + stating[slot, i]] += 1
    mean = word_weight.sum() / max(words.shape[0], 1)
    bearing = np.full((n_shown, 2), -1, np.int32)
    for passage in range(n_shown):
        start, stop = text_indptr[passage], text_indptr[passage + 1]
        first, last = sentence_indptr[passage], sentence_indptr[passage + 1]
        if first == last:
            continue
        shown, own_places, own_starts = text[start:stop], places[start:stop], sentence_start[first:last]
        scores[: last - first] = 0.0
        for i in range(words.shape[0]):
            word = needle[needle_indptr[int(words[i])] : needle_indptr[int(words[i]) + 1]]
            add_where_held(
                shown, own_places, buckets[passage], own_starts, word, letters, word_weight[i], scores
            )
        for i in range(last - first):
            scores[i] += mean * n_stating[first + i]
        keep_best(scores, last - first, 0.5, bearing[passage])
    return stating, bearing
