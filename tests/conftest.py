"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ytrag_core.embedding.encoder import Encoder

_REPOSITORY = Path(__file__).resolve().parent.parent


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
