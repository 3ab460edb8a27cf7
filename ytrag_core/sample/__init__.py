"""The built-in sample: a made-up world in English and Chinese."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from ytrag_core.errors import DocumentError

__all__ = ["sample_folder"]


def sample_folder() -> Path:
    """Return the folder of the sample, in the form that `ytrag import openie` reads.

    Returns
    -------
    Path
        Holds `corpus.jsonl`, `openie.jsonl`, `questions.jsonl` and a `README.md` on what they are.

    Raises
    ------
    DocumentError
        When the files are not on disk, as in an installation that runs from a zip archive.
    """
    folder = Path(str(resources.files(__name__)))
    if not (folder / "corpus.jsonl").is_file():
        raise DocumentError(f"the sample is not at {folder}; install ytrag as files, not as a zip archive")
    return folder
