"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.local_model import LocalModel
    from ytrag_core.embedding.encoder import Encoder
    from ytrag_core.knowledge_base import KnowledgeBase

_REPOSITORY = Path(__file__).resolve().parent.parent

# A machine that does something else meanwhile is no failure, and who changes nothing gets what was before.
settings.register_profile(
    "steady", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("searching", settings.get_profile("steady"), derandomize=False)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for what takes minutes, or may find something new."""
    parser.addoption(
        "--thorough",
        action="store_true",
        help="ask a local language model all questions, draw other examples each time",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how examples are drawn before a test is collected."""
    settings.load_profile("searching" if config.getoption("--thorough") else "steady")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of recorded data sets, or skip."""
    folder = Path(os.environ.get("YTRAG_TEST_DATA", _REPOSITORY.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no recorded data at {folder}; set YTRAG_TEST_DATA")
    return folder


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """Return the real encoder, converted once and cached."""
    from ytrag_core.embedding.encoder import Encoder

    return Encoder.load()


@pytest.fixture(scope="session")
def sample_kb(tmp_path_factory: pytest.TempPathFactory, encoder: Encoder) -> KnowledgeBase:
    """Return the built-in sample, imported once; tests that build copy its directory first."""
    from ytrag_core.knowledge_base import KnowledgeBase
    from ytrag_core.sample import sample_folder

    root = tmp_path_factory.mktemp("sample") / "kb"
    KnowledgeBase.build(root, [sample_folder()], format="openie", encoder=encoder)
    return KnowledgeBase.open(root, encoder=encoder)


@pytest.fixture(scope="session")
def local_llm() -> Iterator[LocalModel]:
    """Return a small language model behind a real server, or skip (`tests.local_model`)."""
    from tests.local_model import running, why_not

    reason = why_not()
    if reason:
        pytest.skip(reason)
    with running() as served:
        yield served
