"""The README's table: what a run says, losses included, and nothing but what stands between the markers."""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from tests.house import REPOSITORY

if TYPE_CHECKING:
    from pathlib import Path

sys.path.append(str(REPOSITORY / "benches"))
report, growth, results = (import_module(name) for name in ("report", "growth", "results"))


def bench(operation: str, size: int, peer: str, median: float, **more: float) -> dict[str, object]:
    facts = {"operation": operation, "size": size, "unit": "nodes", "peer": peer, **more}
    return {"extra_info": facts, "stats": {"median": median, "iqr": 0.0, "rounds": 3}}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    benches = [
        bench("sorting", 10_000, "ytrag", 1e-3),
        bench("sorting", 10_000, "numpy", 4e-3),
        bench("sorting", 1_000_000, "ytrag", 1.0),
        bench("sorting", 1_000_000, "numpy", 0.5),
        bench("adding", 10_000, "ytrag, 2 threads", 2e-6, recall=0.97),
        {"extra_info": {}, "stats": {"median": 1.0, "iqr": 0.0, "rounds": 1}},
    ]
    path.write_text(json.dumps({"benchmarks": benches, "machine_info": {"cpu": {"count": 2}}}), "utf-8")
    return path


def test_a_run_is_read_without_what_is_no_race(run: Path) -> None:
    found: list[Any] = results.read_run(run)
    assert len(found) == 5
    assert found[0] == results.Result("sorting", 10_000, "nodes", "ytrag", 1e-3, 0.0, 3)


def test_the_exponent_is_the_slope_of_the_logarithms(run: Path) -> None:
    assert growth.exponents(results.read_run(run)) == {("sorting", "ytrag"): pytest.approx(1.5)}


def test_the_table_shows_times_ratios_and_losses(run: Path, tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{report.START}\nold\n{report.END}\nafter\n", "utf-8")
    memory = tmp_path / "memory.json"
    peak = {"operation": "sorting", "peer": "ytrag", "size": 10_000, "inputs_mb": 5.0, "peak_mb": 7.0}
    memory.write_text(json.dumps([peak]), "utf-8")
    assert report.main([str(run), "--memory", str(memory), "--readme", str(readme)]) == 0
    text = readme.read_text("utf-8")
    assert text.startswith(f"before\n{report.START}\n")
    assert text.endswith(f"\n{report.END}\nafter\n")
    assert "\nold\n" not in text
    assert "| sorting | 10,000 nodes | 1 ms | numpy: 4 ms | 4.0× |" in text
    assert "|  | 1,000,000 nodes | 1 s | numpy: 500 ms | **0.50×** |" in text
    assert "| adding | 10,000 nodes | 2 threads: 2 µs (recall 0.970) |  |  |" in text
    assert "Time grows to at most 1.2, except, where" in text
    assert "1.50 (sorting (ytrag))." in text
    assert "| sorting | 10,000 nodes | ytrag | 5 MB | 7 MB |" in text
    assert "we lose: 1 of 3" in text


def test_the_stages_of_a_build_are_told_apart() -> None:
    times = {"stage: tree": 1.0, "stage: walk graph": 0.5, "sorting": 2.0}
    found = [results.Result(what, 10, "nodes", "ytrag", 1.0, 0.0, 3) for what in times]
    found += [
        results.Result(what, 1000, "nodes", "ytrag", 100.0**power, 0.0, 3) for what, power in times.items()
    ]
    text = report.render(found, {}, [])
    assert "to the power of 1.00 (tree), 0.50 (walk graph). That of single operations to at most 1.2" in text
    assert text.endswith("2.00 (sorting (ytrag)).")


def test_a_readme_without_markers_is_left_alone(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("no markers", "utf-8")
    assert report.main([str(run), "--readme", str(readme)]) == 2
    assert readme.read_text("utf-8") == "no markers"
    assert "bench:start" in capsys.readouterr().err
