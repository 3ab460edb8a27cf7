"""Options and surroundings of all benches.

``pytest benches`` measures inputs of 10,000 and 100,000, with ``--full`` of 1,000,000, too, which takes ten
minutes and 16 GB; ``--smoke`` runs each bench once on small inputs and times nothing.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest
from growth import exponents, render
from results import results_of_session

if TYPE_CHECKING:
    from collections.abc import Iterator

SMOKE_SIZE = 1_000
SIZES: tuple[int, ...] = (10_000, 100_000)
FULL_SIZE = 1_000_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--smoke", action="store_true", help="shrink the inputs and run each bench once")
    parser.addoption("--full", action="store_true", help="measure inputs of a million, too")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("python_files", "bench_*.py")
    if config.getoption("--smoke"):
        config.option.benchmark_disable = True


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `n_nodes` the sizes asked for, smallest first, all peers of one before the next."""
    if "n_nodes" not in metafunc.fixturenames:
        return
    sizes = [SMOKE_SIZE] if metafunc.config.getoption("--smoke") else list(SIZES)
    if metafunc.config.getoption("--full"):
        sizes.append(FULL_SIZE)
    metafunc.parametrize("n_nodes", sizes, ids=[f"{size:,}" for size in sizes])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print by which power of the size each operation's time grows."""
    found = exponents(results_of_session(config))
    if found:
        terminalreporter.section("growth of the time with the size")
        terminalreporter.write_line(render(found))


@pytest.fixture(scope="session")
def smoke(request: pytest.FixtureRequest) -> bool:
    """Whether inputs should be small."""
    return bool(request.config.getoption("--smoke"))


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether to take all the time it needs."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(scope="module", autouse=True)
def _empty_caches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Free the inputs that a module's benches share when its last bench is done."""
    yield
    for value in vars(request.module).values():
        clear = getattr(value, "cache_clear", None)
        if clear is not None:
            clear()
