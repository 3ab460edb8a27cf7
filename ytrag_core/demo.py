"""The commands `demo` and `warmup`: the sample end to end, and everything slow done once."""

from __future__ import annotations

import importlib
import pkgutil
import tempfile
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ytrag_core.errors import DocumentError
from ytrag_core.rendering import INDENT, heading, say, show_answer
from ytrag_core.reports import CommunityRow, show_report, show_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import Console

    from ytrag_core.agent.model import Answer
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.evaluation.datasets import Question
    from ytrag_core.pipeline.report import BuildReport, Progress

__all__ = ["Demo", "community_rows", "run_demo", "run_warmup", "show_demo"]


@dataclass(frozen=True, slots=True)
class Demo:
    """What the demo did.

    Attributes
    ----------
    kb
        Where the knowledge base is kept, None when it was temporary.
    report
        The build.
    communities
        The whole tree.
    question
        A question of the sample, with its gold passages.
    answer
        The evidence for it, without a language model.
    """

    kb: Path | None
    report: BuildReport
    communities: Sequence[CommunityRow]
    question: Question
    answer: Answer

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form of the command `demo`."""
        evidence = self.answer.evidence
        return {
            "kb": str(self.kb) if self.kb else None,
            "build": self.report.to_json(),
            "communities": [asdict(row) for row in self.communities],
            "question": self.question.question,
            "answers": list(self.question.answers),
            "supporting_ids": list(self.question.supporting_ids),
            "evidence": evidence.to_json() if evidence else None,
            "answer": self.answer.to_json(),
        }


def run_demo(kb: Path | None, encoder: Encoder, progress: Progress) -> Demo:
    """Index the sample in `kb` or in a temporary directory, and ask its first two-hop question."""
    from ytrag_core.evaluation.datasets import read_questions
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.sample import sample_folder

    sample = sample_folder()
    questions = read_questions(sample / "questions.jsonl")
    question = next((question for question in questions if question.hops == 2), None)
    if question is None:
        raise DocumentError(f"the sample at {sample} holds no two-hop question; install ytrag again")
    with tempfile.TemporaryDirectory(prefix="ytrag-demo-") if kb is None else nullcontext(kb) as folder:
        home = Path(folder)
        report = KnowledgeBase.build(
            home, [sample], format="openie", schema="general", encoder=encoder, progress=progress
        )
        base = KnowledgeBase.open(home, encoder=encoder)
        return Demo(kb, report, community_rows(home), question, base.ask(question.question, top_k=10))


def community_rows(kb: Path, *, n_members: int = 6) -> list[CommunityRow]:
    """Return the whole tree of a knowledge base; the best connected members stand for each community."""
    from ytrag_core.retrieval.view import SnapshotView
    from ytrag_core.storage.snapshot import Snapshot

    view = SnapshotView(Snapshot.open(kb))
    parents = view.snapshot.table("communities", ["parent"]).column("parent").to_pylist()
    degree = view.snapshot.table("entities", ["degree"]).column("degree").to_numpy()
    rows = []
    for community, (name, parent) in enumerate(zip(view.community_names, parents, strict=True)):
        start, end = view.members.indptr[community : community + 2]
        members = view.members.chunks[start:end]
        best = members[(-degree[members]).argsort(kind="stable")[:n_members]]
        names = tuple(view.name(int(entity)) for entity in best)
        rows.append(CommunityRow(community, int(parent), name, len(members), names))
    return rows


def show_demo(console: Console, demo: Demo) -> None:
    """Print the demo as a short tour."""
    say(
        console,
        "The sample: a made-up inland sea, in English and Chinese, with recorded triples.",
        style="bold",
    )
    show_report(console, demo.report, demo.kb or Path("sample"), with_stages=False)
    heading(console, "The knowledge tree")
    show_tree(console, demo.communities)
    heading(console, f"A question that needs {len(demo.question.supporting_ids)} passages")
    show_answer(console, demo.answer)
    heading(console, "What the sample's author says")
    found = set(demo.answer.citations).intersection(demo.question.supporting_ids)
    say(console, " / ".join(demo.question.answers), indent=INDENT, style="green")
    wanted = demo.question.supporting_ids
    say(console, f"from {', '.join(wanted)}: {len(found)} of {len(wanted)} shown above", indent=INDENT)
    heading(console, "Next")
    for line in _hints(demo.kb):
        console.print(Text(f"  {line}"), soft_wrap=True)


def _hints(kb: Path | None) -> list[str]:
    from ytrag_core.sample import sample_folder

    lines = [] if kb else ["ytrag demo --kb kb                      # the same, and keep the knowledge base"]
    name = str(kb or "kb")
    return [
        *lines,
        f'ytrag ask "In which town was the teacher of the fog clock\'s inventor born?" --kb {name}',
        f"ytrag eval retrieval --kb {name} --questions {sample_folder() / 'questions.jsonl'}",
        "ytrag index your-notes/ --kb notes      # your own texts, PDFs, pages and tables",
    ]


def run_warmup(load_encoder: Callable[[], Encoder], progress: Progress) -> dict[str, Any]:
    """Compile the kernels, load the encoder and the Chinese segmenter; return what took how long."""
    started = time.perf_counter()
    kernels = _compile_kernels(progress)
    compiled = time.perf_counter()
    encoder = load_encoder()
    encoder.encode_query("warm up")
    loaded = time.perf_counter()
    from ytrag_core.retrieval.lexical import lexical_tokens

    lexical_tokens("预热")
    segmented = time.perf_counter()
    return {
        "kernels": {**kernels, "seconds": round(compiled - started, 3)},
        "encoder": {
            "name": encoder.description.name,
            "fingerprint": encoder.fingerprint,
            "dimension": encoder.dimension,
            "seconds": round(loaded - compiled, 3),
        },
        "segmenter": {"seconds": round(segmented - loaded, 3)},
    }


def _compile_kernels(progress: Progress) -> dict[str, Any]:
    from ytrag_core import kernels

    names = sorted(module.name for module in pkgutil.iter_modules(kernels.__path__))
    for done, name in enumerate(names):
        progress("compile kernels", done, len(names))
        importlib.import_module(f"{kernels.__name__}.{name}")
    progress("compile kernels", len(names), len(names))
    registry = importlib.import_module(f"{kernels.__name__}.decorator").REGISTRY
    n_cached = sum(kernel.from_cache for kernel in registry.values())
    return {"count": len(registry), "compiled": len(registry) - n_cached, "from_cache": n_cached}
