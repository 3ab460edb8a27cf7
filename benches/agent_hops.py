"""How often the agent brings the passages of all hops before a perfect reader, beside one retrieval.

Run: python benches/agent_hops.py --kb KB --data shared/data/musique_train [--context-tokens 4000]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from statistics import mean
from typing import Any

from oracle_reader import OracleReader, read_hops

from ytrag_core.agent.budget import Budget
from ytrag_core.agent.dialogue import prompt_tokens
from ytrag_core.agent.simple import is_simple
from ytrag_core.knowledge_base import KnowledgeBase

__all__ = ["measure"]


def measure(kb: KnowledgeBase, data: Path, budget: Budget, *, limit: int | None = None) -> dict[str, Any]:
    """Return the share of questions of which a reader reached all hops, in percent, and what it cost."""
    hops = dict(list(read_hops(data).items())[:limit])
    lines = (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
    passages = {record["id"]: record["text"] for record in map(json.loads, lines)}
    report: dict[str, Any] = {"n": len(hops), "context_tokens": budget.context_tokens}
    report["taken_apart_unasked"] = sum(not is_simple(question) for question in hops)
    for name, decomposes, steps in (
        ("agent, recorded decomposition", True, budget.max_steps),
        ("agent, one new query at a time", False, budget.max_steps),
        ("one retrieval", False, 1),
    ):
        reader = OracleReader(hops, passages, decomposes=decomposes)
        answers = [
            kb.ask(question, mode="reject", llm=reader, budget=budget.model_copy(update={"max_steps": steps}))
            for question in hops
        ]
        reached = {question: len(reader.reached.get(question, ())) for question in hops}
        report[name] = {
            "all_hops": round(100 * mean(reached[q] == len(hops[q]) for q in hops), 1),
            "hops": round(100 * sum(reached.values()) / sum(map(len, hops.values())), 1),
            "answered": round(100 * mean(not answer.refused for answer in answers), 1),
            "calls": round(mean(answer.usage.llm_calls for answer in answers), 2),
            "steps": round(mean(len(answer.steps) for answer in answers), 2),
            "longest_prompt": max(map(prompt_tokens, reader.prompts)),
            "missed": [q for q in hops if reached[q] < len(hops[q])],
        }
    return report


def main() -> None:
    """Print the report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kb", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--context-tokens", type=int, default=4000)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args()
    kb = KnowledgeBase.open(given.kb)
    report = measure(kb, given.data, Budget(context_tokens=given.context_tokens), limit=given.limit)
    print(json.dumps(report, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()
