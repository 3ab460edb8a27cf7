"""Write the README's table of operations from a bench run, our losses included.

python -m pytest benches --full --benchmark-json=run.json
python benches/memory.py --json memory.json
python benches/report.py run.json --memory memory.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from growth import LIMIT, STAGE, exponents
from results import read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from results import Result

README = Path(__file__).resolve().parent.parent / "README.md"
START, END = "<!-- bench:start -->", "<!-- bench:end -->"

__all__ = ["END", "START", "insert", "main", "render"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Read a run, and replace what stands between the markers of the README."""
    parser = argparse.ArgumentParser(prog="python benches/report.py", description="Write the README's table.")
    parser.add_argument("runs", type=Path, nargs="+", help="files written by pytest --benchmark-json")
    parser.add_argument("--memory", type=Path, help="file written by memory.py --json")
    parser.add_argument("--readme", type=Path, default=README)
    options = parser.parse_args(arguments)
    results = [result for run in options.runs for result in read_run(run)]
    if not results:
        print(f"no results in {', '.join(map(str, options.runs))}; run without --smoke", file=sys.stderr)
        return 2
    machine = json.loads(options.runs[0].read_text(encoding="utf-8")).get("machine_info", {})
    peaks = json.loads(options.memory.read_text(encoding="utf-8")) if options.memory else []
    text = options.readme.read_text(encoding="utf-8")
    if START not in text or END not in text:
        print(f"{options.readme} lacks the lines {START} and {END}", file=sys.stderr)
        return 2
    options.readme.write_text(insert(text, render(results, machine, peaks)), encoding="utf-8")
    return 0


def insert(text: str, table: str) -> str:
    """Put `table` between the markers."""
    before, rest = text.split(START, 1)
    return f"{before}{START}\n{table}\n{END}{rest.split(END, 1)[1]}"


def render(results: Sequence[Result], machine: dict[str, Any], peaks: Sequence[dict[str, Any]]) -> str:
    """Return the paragraphs and tables."""
    parts = [_preface(results, machine), _times(results), _growth(results)]
    if peaks:
        parts.append(_memory(peaks))
    return "\n\n".join(parts)


def _preface(results: Sequence[Result], machine: dict[str, Any]) -> str:
    cpu = machine.get("cpu", {})
    name = cpu.get("brand_raw") or machine.get("processor") or "an unnamed processor"
    groups = _groups(results)
    lost = sum(_best_ratio(group) < 1 for group in groups.values() if len(_peers(group)) > 0)
    return (
        f"Medians on {name}, {cpu.get('count', '?')} cores, Python {machine.get('python_version', '?')}; the "
        "last column is the fastest peer's time divided by our fastest, so below 1.0× (in bold) we lose: "
        f"{lost} of {len(groups)}."
    )


def _times(results: Sequence[Result]) -> str:
    lines = ["| operation | size | ours | peers | ratio |", "| --- | --- | --- | --- | --- |"]
    last = None
    for (operation, size, unit), group in _groups(results).items():
        ours = _cell([result for result in group if result.is_ours])
        peers = _peers(group)
        shown = "" if operation == last else operation
        ratio = _best_ratio(group) if peers else None
        text = "" if ratio is None else f"{ratio:.1f}×" if ratio >= 1 else f"**{ratio:.2f}×**"
        lines.append(f"| {shown} | {size:,} {unit} | {ours} | {_cell(peers)} | {text} |")
        last = operation
    return "\n".join(lines)


def _growth(results: Sequence[Result]) -> str:
    powers = exponents(results)
    if not powers:
        return "One size was measured."
    stages = {
        what.removeprefix(STAGE): power for (what, _), power in powers.items() if what.startswith(STAGE)
    }
    steep = {
        f"{what} ({peer})": power
        for (what, peer), power in powers.items()
        if power > LIMIT and not what.startswith(STAGE)
    }
    sentences = []
    if stages:
        sentences.append(f"The time of a build's stages grows as its size to the power of {_powers(stages)}.")
    rest = f"that of single operations to at most {LIMIT}" if stages else f"Time grows to at most {LIMIT}"
    if steep:
        rest += f", except, where the smallest input fits a cache and the largest does not, {_powers(steep)}"
    return " ".join([*sentences, f"{rest[0].upper()}{rest[1:]}."])


def _powers(powers: dict[str, float]) -> str:
    steepest = sorted(powers.items(), key=lambda item: -item[1])
    return ", ".join(f"{power:.2f} ({what})" for what, power in steepest)


def _memory(peaks: Sequence[dict[str, Any]]) -> str:
    lines = [
        "Peak memory, each measured in a process of its own, over what its inputs take:",
        "",
        "| operation | size | who | inputs | peak above them |",
        "| --- | --- | --- | --- | --- |",
    ]
    lines += [
        f"| {peak['operation']} | {peak['size']:,} nodes | {peak['peer']} "
        f"| {peak['inputs_mb']:,.0f} MB | {peak['peak_mb']:,.0f} MB |"
        for peak in peaks
    ]
    return "\n".join(lines)


def _groups(results: Sequence[Result]) -> dict[tuple[str, int, str], list[Result]]:
    """Group results by operation, in the order measured, and size, ascending."""
    order = list(dict.fromkeys(result.operation for result in results))
    groups: dict[tuple[str, int, str], list[Result]] = {}
    for result in sorted(results, key=lambda r: (order.index(r.operation), r.size)):
        groups.setdefault((result.operation, result.size, result.unit), []).append(result)
    return groups


def _peers(group: Sequence[Result]) -> list[Result]:
    return [result for result in group if not result.is_ours]


def _best_ratio(group: Sequence[Result]) -> float:
    ours = [result.median for result in group if result.is_ours]
    return min(result.median for result in _peers(group)) / min(ours) if ours else 0.0


def _cell(results: Sequence[Result]) -> str:
    return "; ".join(map(_entry, results))


def _entry(result: Result) -> str:
    """Return a peer's time, with its name unless that is a lone ``ytrag``."""
    name = "" if result.peer == "ytrag" else result.peer.removeprefix("ytrag, ") + ": "
    recall = "" if result.recall is None else f" (recall {result.recall:.3f})"
    return f"{name}{_duration(result.median)}{recall}"


def _duration(seconds: float) -> str:
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


if __name__ == "__main__":
    sys.exit(main())
