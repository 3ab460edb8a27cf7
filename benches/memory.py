"""Peak memory of one operation at a time, each in a process of its own.

python benches/memory.py [--size 1000000] [--json memory.json]
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["OPERATIONS", "main", "measure"]

MEBIBYTE = 1 << 20


def csr_by_ytrag(size: int) -> Callable[[], object]:
    """Inputs of the benches, made before memory is read."""
    from bench_graph_kernels import both_directions
    from graphs import random_edges

    edges = random_edges(size)
    return lambda: both_directions(edges)


def csr_by_scipy(size: int) -> Callable[[], object]:
    from bench_graph_kernels import both_directions_by_scipy
    from graphs import random_edges

    edges = random_edges(size)
    return lambda: both_directions_by_scipy(edges)


def aggregation_by_ytrag(size: int) -> Callable[[], object]:
    from tree_inputs import aggregated, incidence_of

    incidence_of(size)
    return lambda: aggregated(size, 2)


def aggregation_by_scipy(size: int) -> Callable[[], object]:
    from bench_aggregate import products_of_scipy
    from tree_inputs import random_triples

    return products_of_scipy(random_triples(size))


def leiden_by_ytrag(size: int) -> Callable[[], object]:
    from bench_leiden import planted_graph

    from ytrag_core.tree.leiden import leiden

    graph = planted_graph(size)
    return lambda: leiden(graph)


def leiden_by_igraph(size: int) -> Callable[[], object]:
    from bench_leiden import planted_graph
    from graphs import igraph_of

    graph = planted_graph(size)
    other, weights = igraph_of(graph.indptr, graph.indices, graph.weights)
    return lambda: other.community_leiden(
        objective_function="modularity", weights=weights.tolist(), n_iterations=2
    )


def pagerank_by_ytrag(size: int) -> Callable[[], object]:
    from bench_ppr import pusher
    from graphs import random_walk

    return pusher(random_walk(size))


def pagerank_by_igraph(size: int) -> Callable[[], object]:
    from bench_ppr import SETTINGS, dense_seeds
    from graphs import igraph_of, random_walk

    walk = random_walk(size)
    graph, weights = igraph_of(walk.indptr, walk.indices, walk.weights)
    reset = dense_seeds(walk).tolist()
    return lambda: graph.personalized_pagerank(
        directed=False, damping=SETTINGS.damping, reset=reset, weights=weights.tolist()
    )


OPERATIONS: dict[tuple[str, str], Callable[[int], Callable[[], object]]] = {
    ("CSR in both directions", "ytrag"): csr_by_ytrag,
    ("CSR in both directions", "scipy.sparse, edge id only"): csr_by_scipy,
    ("3d aggregation", "ytrag"): aggregation_by_ytrag,
    ("3d aggregation", "scipy.sparse"): aggregation_by_scipy,
    ("communities by modularity", "ytrag, Leiden"): leiden_by_ytrag,
    ("communities by modularity", "igraph, Leiden"): leiden_by_igraph,
    ("personalised PageRank", "ytrag, local push"): pagerank_by_ytrag,
    ("personalised PageRank", "igraph"): pagerank_by_igraph,
}


def resident() -> int:
    """Return the bytes resident now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize()


def forget_peak() -> None:
    """Give back what making the inputs has freed, and let its peak not count (Linux with glibc)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak() -> int:
    """Return the most bytes that were resident since `forget_peak`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) * 1024


def run_alone(number: int, size: int) -> None:
    """Run one operation in this process and print what it took."""
    operation = list(OPERATIONS.values())[number](size)
    forget_peak()
    before = resident()
    result = operation()
    print(json.dumps({"inputs_mb": before / MEBIBYTE, "peak_mb": max(0, peak() - before) / MEBIBYTE}))
    del result


def measure(size: int) -> list[dict[str, Any]]:
    """Measure all operations, one process after the other."""
    measured: list[dict[str, Any]] = []
    for number, (operation, peer) in enumerate(OPERATIONS):
        command = [sys.executable, str(Path(__file__)), "--size", str(size), "--alone", str(number)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        measured.append({"operation": operation, "peer": peer, "size": size, **found})
        print(
            f"{operation} | {size:,} | {peer}: {found['peak_mb']:,.0f} MB above {found['inputs_mb']:,.0f} MB"
        )
    return measured


def main() -> int:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python benches/memory.py", description="Measure peak memory.")
    parser.add_argument("--size", type=int, default=100_000, help="nodes")
    parser.add_argument("--json", type=Path, help="where to write the figures for report.py")
    parser.add_argument("--alone", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if sys.platform != "linux":
        print("peaks are read from /proc, which only Linux has", file=sys.stderr)
        return 2
    if options.alone is not None:
        run_alone(options.alone, options.size)
        return 0
    measured = measure(options.size)
    if options.json:
        options.json.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
