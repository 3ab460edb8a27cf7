"""Options and surroundings of all benches.

``pytest benches`` measures; ``pytest benches --smoke`` runs each bench once on small inputs.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--smoke", action="store_true", help="shrink the inputs and run each bench once")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("python_files", "bench_*.py")
    if config.getoption("--smoke"):
        config.option.benchmark_disable = True


@pytest.fixture(scope="session")
def smoke(request: pytest.FixtureRequest) -> bool:
    """Whether inputs should be small."""
    return bool(request.config.getoption("--smoke"))
