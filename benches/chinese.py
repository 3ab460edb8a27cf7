"""Chinese questions against their passages, by the vectors alone: `python -m benches.chinese FOLDER`.

FOLDER holds `corpus.jsonl` {id, text} and `questions.jsonl` {question, supporting_ids}, one passage a
question, as the trial set of CMRC 2018 in that form. Options after it choose encoders and precisions, for
example `multilingual-e5-small int8`. A passage that is longer than the encoder's window is cut there.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from ytrag_core.embedding.description import BUILT_IN
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.precision import Precision

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_DEPTHS = (1, 5, 20)


def main(folder: Path, wanted: list[str]) -> None:
    """Print one line for each encoder and precision."""
    passages = _records(folder / "corpus.jsonl")
    questions = [record for record in _records(folder / "questions.jsonl") if record["question"].strip()]
    row_of = {record["id"]: row for row, record in enumerate(passages)}
    gold = np.array([row_of[record["supporting_ids"][0]] for record in questions])
    texts = [record["text"] for record in passages], [record["question"] for record in questions]
    print(f"{len(passages)} passages, {len(questions)} questions; strings a second on this machine, now")
    print(f"{'encoder':<24}{'':<6}{'recall@1':>9}{'@5':>7}{'@20':>7}{'passages/s':>12}{'questions/s':>12}")
    for name in _chosen(BUILT_IN, wanted):
        for precision in _chosen(get_args(Precision), wanted):
            encoder = Encoder.load(description=BUILT_IN[name], precision=precision)
            print(f"{name:<24}{precision:<6}{_line(encoder, texts, gold)}", flush=True)


def _line(encoder: Encoder, texts: tuple[list[str], list[str]], gold: NDArray[np.int64]) -> str:
    encoder.warm_up()
    started = time.perf_counter()
    passages = encoder.encode(texts[0])
    between = time.perf_counter()
    questions = np.array([encoder.encode_query(text) for text in texts[1]])
    seconds = between - started, time.perf_counter() - between
    scores = questions @ passages.T
    rank = (scores > scores[np.arange(len(gold)), gold][:, None]).sum(axis=1)
    recall = [100 * float((rank < depth).mean()) for depth in _DEPTHS]
    rates = [len(part) / spent for part, spent in zip(texts, seconds, strict=True)]
    return f"{recall[0]:>9.1f}{recall[1]:>7.1f}{recall[2]:>7.1f}{rates[0]:>12.1f}{rates[1]:>12.1f}"


def _chosen(known: Iterable[str], wanted: list[str]) -> list[Any]:
    """Return those of the known names that are wanted, all where none is."""
    known = list(known)
    return [name for name in known if name in wanted] or known


def _records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
