"""Builds, evaluations, trees and descriptions as a reader sees them on a terminal or in a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from ytrag_core.console import printable
from ytrag_core.rendering import INDENT, heading, more, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.console import Console

    from ytrag_core.pipeline.report import BuildReport

__all__ = [
    "CommunityRow",
    "show_ablation",
    "show_evaluation",
    "show_report",
    "show_tree",
    "show_tuning",
    "show_values",
    "table",
]

_N_PROBLEMS = 10
_N_TOP = 12
_N_CHILDREN = 6
_N_LEVELS = 3


@dataclass(frozen=True, slots=True)
class CommunityRow:
    """One community of the tree, for display.

    Attributes
    ----------
    parent
        The id of the community above, -1 at the top.
    size
        Entities below it.
    members
        A few of their names, the most typical first.
    """

    id: int
    parent: int
    name: str
    size: int
    members: tuple[str, ...]


def show_report(console: Console, report: BuildReport, kb: Path, *, with_stages: bool = True) -> None:
    """Print the outcome of a build: counts, stages with their cost, problems."""
    console.print(Text(printable(f"{kb}: snapshot {report.snapshot}"), style="bold cyan"))
    _say_items(console, [f"{count:,} {name}" for name, count in report.counts.items()])
    strings = f"{report.encoded_strings:,} strings encoded, {report.reused_strings:,} reused"
    say(console, strings, indent=INDENT)
    if report.language_model is not None:
        _say_items(console, _of_language_model(report.language_model))
    if report.stages and with_stages:
        console.print()
        stages = table("stage", "items", "seconds", "per second", "peak MiB")
        for stage in report.stages:
            items = f"{stage.items:,}" if stage.items else ""
            rate = f"{stage.items / stage.seconds:,.0f}" if stage.items and stage.seconds >= 0.01 else ""
            stages.add_row(
                printable(stage.name), items, f"{stage.seconds:,.2f}", rate, f"{stage.peak_rss_mb:,.0f}"
            )
        _print_block(console, stages)
    _problems(console, "Set aside", [(problem.source, problem.reason) for problem in report.problems])


def _of_language_model(spent: Mapping[str, Any]) -> list[str]:
    """Return what a language model was asked and what that took, in words."""
    words = {"done": "read", "salvaged": "in part", "failed": "in vain", "pending": "left"}
    passages = [f"{spent[name]:,} {said}" for name, said in words.items() if spent.get(name)]
    items = [f"language model: passages {passages[0]}", *passages[1:]] if passages else ["language model"]
    named = spent.get("communities") or {}
    if named.get("described"):
        items.append(f"{named['described']:,} communities named")
    for name, said in (("prompt_tokens", "tokens in"), ("completion_tokens", "out")):
        items.append(f"{spent.get(name, 0) + named.get(name, 0):,} {said}")
    if spent.get("cost") is not None:
        items.append(f"cost {spent['cost']:,.4g} for passages")
    return items


def _say_items(console: Console, items: Sequence[str]) -> None:
    """Print items with commas between them, breaking lines between items only."""
    line = ""
    for item in items:
        if line and len(line) + len(item) + 4 + INDENT > console.width:
            say(console, f"{line},", indent=INDENT)
            line = ""
        line = f"{line}, {item}" if line else item
    say(console, line, indent=INDENT)


def show_evaluation(console: Console, report: Mapping[str, Any]) -> None:
    """Print the metrics of every system side by side, the best of each row in bold."""
    systems: Mapping[str, Mapping[str, Any]] = report["systems"]
    console.print(Text(f"{report['n']:,} questions; recall, chain and mrr in percent", style="bold cyan"))
    metrics = table("", *systems)
    names = list(next(iter(systems.values()))["interval"])
    for group in ("recall@", "chain@", "mrr"):
        rows = [name for name in names if name.startswith(group)]
        for name in rows:
            values = [system[name] for system in systems.values()]
            style = {True: "bold green", False: ""}
            cells = [Text(f"{value:.1f}", style[value == max(values)]) for value in values]
            metrics.add_row(name, *cells, end_section=name == rows[-1])
    for name in ("p50", "p95", "p99"):
        metrics.add_row(f"{name}, ms", *(f"{system['latency_ms'][name]:.1f}" for system in systems.values()))
    _print_block(console, metrics)
    first, system = next(iter(systems.items()))
    _print_block(console, _by_hops(first, system))
    if "stages_ms" in system:
        stages = ", ".join(f"{name} {ms['p50']:.1f}" for name, ms in system["stages_ms"].items())
        say(console, f"{first}, ms by stage (p50): {stages}")
    _problems(console, "Problems", [(problem["source"], problem["reason"]) for problem in report["problems"]])


def _by_hops(name: str, system: Mapping[str, Any]) -> Table:
    """Return the metrics of one system with their intervals, and by the number of hops."""
    hops = system["by_hops"]
    rows = table(name, "95 % interval", *(f"{n} hops ({values['n']})" for n, values in hops.items()))
    for metric, (low, high) in system["interval"].items():
        rows.add_row(metric, f"{low:.1f} to {high:.1f}", *(f"{each[metric]:.1f}" for each in hops.values()))
    return rows


def show_ablation(console: Console, ablation: Mapping[str, Any]) -> None:
    """Print each route alone, and what changes without it; a change in bold is more than chance."""
    metrics = [name for name in next(iter(ablation["alone"].values())) if name.startswith("recall@")]
    alone, changed = table("alone", *metrics), table("all without", *metrics)
    for route, values in ablation["alone"].items():
        alone.add_row(route, *(f"{values[name]:.1f}" for name in metrics))
        changes = [ablation["without"][route]["change"][name] for name in metrics]
        cells = [
            Text(f"{points:+.1f}", "bold" if low > 0.0 or high < 0.0 else "") for points, low, high in changes
        ]
        changed.add_row(route, *cells)
    _print_block(console, alone)
    _print_block(console, changed)


def show_tuning(console: Console, report: Mapping[str, Any], in_force: Mapping[str, float]) -> None:
    """Print what a refit of the weights brings on questions that were left out, and the weights."""
    title = f"{report['n']:,} questions in {report['n_groups']:,} groups; percent, on questions left out"
    console.print(Text(title, style="bold cyan"))
    figures = table("", "in force", "fitted")
    for name, before in report["before"].items():
        figures.add_row(name, f"{before:.1f}", f"{report['after'][name]:.1f}")
    _print_block(console, figures)
    weights = table("weight", "in force", "fitted")
    for name, weight in report["weights"].items():
        weights.add_row(name, f"{in_force.get(name, 0.0):.3g}", f"{weight:.3g}")
    _print_block(console, weights)
    verdict = f"gain {report['gain']:+.2f} points, give or take {report['error']:.2f}"
    say(console, f"{verdict}{': ' + report['reason'] if 'reason' in report else ''}")
    if report["worth_it"] and not report["applied"]:
        say(console, "store them with --apply")


def _problems(console: Console, title: str, problems: Sequence[tuple[str, str]]) -> None:
    if not problems:
        return
    heading(console, f"{title}: {len(problems):,}")
    for source, reason in problems[:_N_PROBLEMS]:
        say(console, f"{source}: {reason}", indent=INDENT)
    more(console, len(problems) - _N_PROBLEMS)


def show_tree(console: Console, communities: Sequence[CommunityRow]) -> None:
    """Print the tree of communities, largest first: names, sizes, and a few members of each leaf."""
    children: dict[int, list[CommunityRow]] = {}
    for row in communities:
        children.setdefault(row.parent, []).append(row)
    for rows in children.values():
        rows.sort(key=lambda row: (-row.size, row.id))
    top = children.get(-1, [])
    n_entities = sum(row.size for row in top)
    root = Tree(Text(f"{n_entities:,} entities in {len(communities):,} communities", style="bold"))
    _grow(root, top, children, n_shown=_N_TOP, depth=1)
    _print_block(console, root)


def _grow(
    above: Tree,
    rows: Sequence[CommunityRow],
    children: Mapping[int, Sequence[CommunityRow]],
    *,
    n_shown: int,
    depth: int,
) -> None:
    for row in rows[:n_shown]:
        below = children.get(row.id, ())
        label = Text.assemble((printable(row.name), "cyan"), (f"  {row.size:,}", "green"))
        if not below and row.members:
            rest = row.size - len(row.members)
            names = ", ".join(row.members) + (f" and {rest:,} more" if rest > 0 else "")
            label.append(f"\n{printable(names)}", "dim")
        branch = above.add(label)
        if depth < _N_LEVELS:
            _grow(branch, below, children, n_shown=_N_CHILDREN, depth=depth + 1)
    if len(rows) > n_shown:
        above.add(Text(f"... and {len(rows) - n_shown:,} more", style="dim"))


def show_values(console: Console, values: Mapping[str, Any], *, indent: int = 0) -> None:
    """Print named values one a line, nested ones indented, numbers with separators."""
    flat = [str(name) for name, value in values.items() if not isinstance(value, dict)]
    width = max(map(len, flat), default=0)
    for name, value in values.items():
        if isinstance(value, dict):
            say(console, str(name), indent=indent)
            show_values(console, value, indent=indent + INDENT)
        else:
            label = printable(f"{name!s:<{width}}  ")
            say(
                console,
                Text.assemble(label, (printable(_formatted(str(name), value)), "cyan")),
                indent=indent,
            )


def _formatted(name: str, value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, int):
        return f"{_size(value)} ({value:,})" if "bytes" in name and value >= 1024 else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, list | tuple):
        return ", ".join(_formatted("", item) for item in value) or "-"
    if isinstance(value, dict):
        return " ".join(_formatted("", item) for item in value.values())
    return str(value)


def _size(n_bytes: int) -> str:
    power = min((n_bytes.bit_length() - 1) // 10, 3)
    return f"{n_bytes / 1024**power:,.1f} {('bytes', 'KiB', 'MiB', 'GiB')[power]}"


def table(first: str, *columns: str) -> Table:
    """Return an empty table: the first column names the row, the others hold right-aligned figures."""
    made = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    made.add_column(printable(first), no_wrap=True)
    for column in columns:
        made.add_column(printable(column), justify="right", no_wrap=True)
    return made


def _print_block(console: Console, block: Table | Tree) -> None:
    """Print a table or tree; into a file, without the blanks that pad its lines."""
    if console.is_terminal:
        console.print(block)
        return
    with console.capture() as capture:
        console.print(block)
    for line in capture.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)
