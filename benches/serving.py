"""Latency, quality and memory of a served knowledge base, asked about its own triples.

Run as `python benches/serving.py KB`. Questions are made by templates from triples whose head bears a name of
its own; one warm process answers them. With `--hops 2` they are made from chains of two triples and the paths
are looked at; then the biggest hubs are asked about.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
from two_hops import make_chains, measure_chains, measure_hubs

from ytrag_core.graph.normalise import relation_text
from ytrag_core.knowledge_base import KnowledgeBase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ytrag_core.retrieval.model import Evidence
    from ytrag_core.retrieval.view import SnapshotView

_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_ENGLISH = (
    "What is the {relation} of {head}?",
    "Which {relation} does {head} have?",
    "{head} {relation}?",
    "Tell me the {relation} of {head}.",
)
_CHINESE = ("{head}{relation}哪里？", "{head}的{relation}是什么？", "请问{head}{relation}什么？")
_TOP = 10
_WARM = 50
_BLOCK = 100
_STATUS = ("VmRSS", "RssAnon", "RssFile")


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the triple it was made from."""

    text: str
    head: str
    relation: str
    tail: str


def relation_words(relation: str, *, short: bool) -> str:
    """Return a relation as words; of a path `/a/b/c`, optionally the last part only."""
    return relation_text(relation.rstrip("/").rsplit("/", 1)[-1] if short else relation)


def make_questions(view: SnapshotView, n: int, seed: int, sample: str) -> list[Question]:
    """Draw triples whose head's name no other node bears, and word a question for each.

    `heads` draws heads first and then one of their triples; `triples` draws triples, most of which belong to
    heads with many.
    """
    rng = np.random.default_rng(seed)
    bearers = np.diff(view.strings["string_nodes_indptr"])
    degree = np.diff(view.out.indptr)
    is_own = (bearers[view.strings["node_string"]] == 1) & (degree > 0)
    if sample == "heads":
        own = np.flatnonzero(is_own)
        heads = rng.choice(own, min(n, own.shape[0]), replace=False)
        triples = view.out.indptr[heads] + rng.integers(0, degree[heads])
    else:
        own = np.flatnonzero(np.repeat(is_own, degree))
        triples = rng.choice(own, min(n, own.shape[0]), replace=False)
    heads = view.heads(triples.astype(np.int32))
    questions = []
    for triple, head in zip(triples.tolist(), heads.tolist(), strict=True):
        name, tail = view.name(head), view.name(int(view.out.indices[triple]))
        relation = view.relation_names[int(view.out.relation[triple])]
        templates = _CHINESE if _HAN.search(relation) or _HAN.search(name) else _ENGLISH
        words = relation_words(relation, short=bool(rng.integers(2)))
        template = templates[int(rng.integers(len(templates)))]
        questions.append(Question(template.format(head=name, relation=words), name, relation, tail))
    return questions


def rank_of(evidence: Evidence, question: Question) -> tuple[int, int]:
    """Return the ranks, from 1, of the triple and of any with its head and relation; 0 where missing."""
    exact = same = 0
    for rank, hit in enumerate(evidence.triples, 1):
        if (hit.head, hit.relation) == (question.head, question.relation):
            same = same or rank
            if hit.tail == question.tail:
                exact = exact or rank
    return exact, same


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """Answers to some questions, with the milliseconds of each, and the seconds of all."""

    answers: list[tuple[float, Evidence]]
    seconds: float
    cpu_seconds: float


def ask_all(kb: KnowledgeBase, questions: Sequence[Question], n_threads: int) -> Asked:
    """Ask every question, without vectors remembered from before."""
    kb.encoder.forget_queries()

    def ask(question: Question) -> tuple[float, Evidence]:
        start = time.perf_counter()
        evidence = kb.retrieve(question.text)
        return (time.perf_counter() - start) * 1e3, evidence

    start, cpu = time.perf_counter(), time.process_time()
    if n_threads == 1:
        answers = [ask(question) for question in questions]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            answers = list(pool.map(ask, questions))
    return Asked(answers, time.perf_counter() - start, time.process_time() - cpu)


def resident_mib() -> dict[str, float]:
    """Return resident memory, whole, private and of mapped files, in MiB."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text("utf-8").splitlines())
    return {name: round(int(fields[name].split()[0]) / 1024, 1) for name in _STATUS}


def first_answer(root: str, question: str) -> dict[str, float]:
    """Open a knowledge base in this fresh process and ask once."""
    start = time.perf_counter()
    kb = KnowledgeBase.open(root, warm_up=True)
    opened = time.perf_counter()
    kb.retrieve(question)
    answered = time.perf_counter()
    return {"open_s": round(opened - start, 3), "first_answer_s": round(answered - start, 3)}


def _in_a_child(root: str, question: str) -> dict[str, float]:
    command = [sys.executable, __file__, root, "--first", question]
    start = time.perf_counter()
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    figures: dict[str, float] = json.loads(printed)
    figures["process_s"] = round(time.perf_counter() - start, 3)
    return figures


def measure(
    kb: KnowledgeBase, questions: Sequence[Question], n_threads: int, n_misses: int
) -> dict[str, Any]:
    """Return all figures of one warm process; one thread and many take turns, 100 questions each time."""
    ask_all(kb, questions[:_WARM], 1)
    ask_all(kb, questions[:_WARM], n_threads)
    runs: dict[int, list[Asked]] = {1: [], n_threads: []}
    for block in range(0, len(questions), _BLOCK):
        for threads, asked in runs.items():
            asked.append(ask_all(kb, questions[block : block + _BLOCK], threads))
    answers, again = ([answer for run in asked for answer in run.answers] for asked in runs.values())
    seconds = {threads: sum(run.seconds for run in asked) for threads, asked in runs.items()}
    milliseconds = np.array([ms for ms, _ in answers])
    ranks = np.array([rank_of(evidence, q) for (_, evidence), q in zip(answers, questions, strict=True)])
    found = (ranks > 0) & (ranks <= _TOP)
    for index in np.flatnonzero(~found[:, 0])[:n_misses].tolist():
        question, evidence = questions[index], answers[index][1]
        print(f"\n{ranks[index].tolist()} {question}")
        for hit in evidence.triples[:4]:
            print(f"    {hit.score:.3f} {hit.head} | {hit.relation} | {hit.tail}")
    stages = Counter[str]()
    for _, evidence in answers:
        stages.update(evidence.timings_ms)
    same = all(a.triples == b.triples for (_, a), (_, b) in zip(answers, again, strict=True))
    return {
        "questions": len(questions),
        "ms": {f"p{p}": round(float(np.percentile(milliseconds, p)), 1) for p in (50, 95, 99)},
        "mean_ms": {name: round(total / len(questions), 2) for name, total in stages.items()},
        "gold_in_top_10": round(float(found[:, 0].mean()), 4),
        "head_and_relation_in_top_10": round(float(found[:, 1].mean()), 4),
        "per_second": {str(threads): round(len(questions) / total, 1) for threads, total in seconds.items()},
        "ratio": round(seconds[1] / seconds[n_threads], 2),
        "cpu_ms": {
            str(threads): round(sum(run.cpu_seconds for run in asked) / len(questions) * 1e3, 1)
            for threads, asked in runs.items()
        },
        "threads_agree": same,
        "resident_mib": resident_mib(),
    }


def two_hops(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what path search finds of chains of two triples, and what hubs cost it."""
    kb = KnowledgeBase.open(arguments.kb, warm_up=True)

    def words(relation: str, short: bool) -> str:
        return relation_words(relation, short=short)

    chains = make_chains(
        kb.view,
        arguments.questions,
        arguments.seed,
        arguments.sample,
        words,
        lambda text: _HAN.search(text) is not None,
        arguments.alike,
    )
    return {**measure_chains(kb, chains, arguments.misses), "hubs": measure_hubs(kb, words)}


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kb")
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--sample", choices=["heads", "triples"], default="heads")
    parser.add_argument("--misses", type=int, default=0, help="show so many questions that missed")
    parser.add_argument("--hops", type=int, choices=[1, 2], default=1, help="triples that answer a question")
    parser.add_argument("--alike", type=int, default=5, help="most chains that a question may mean")
    parser.add_argument("--first", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.first:
        print(json.dumps(first_answer(arguments.kb, arguments.first)))
        return
    if arguments.hops == 2:
        print(json.dumps(two_hops(arguments), indent=1, ensure_ascii=False))
        return
    kb = KnowledgeBase.open(arguments.kb)
    questions = make_questions(kb.view, arguments.questions, arguments.seed, arguments.sample)
    opening = _in_a_child(arguments.kb, questions[0].text)
    figures = measure(kb, questions, arguments.threads, arguments.misses)
    print(json.dumps({"opening": opening, **figures}, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
