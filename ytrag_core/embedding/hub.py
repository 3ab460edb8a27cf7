"""Downloads a model's files with the hub's own client, as a process of its own.

A process can be stopped after a given time and keeps its retries and progress bars to itself, which the
client's functions do not do. Run as

    python -m ytrag_core.embedding.hub REPOSITORY FOLDER [--cached] FILE...

Without files it only tells, by its exit code, whether the repository can be reached.
"""

from __future__ import annotations

import shutil
import sys
import threading
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache

__all__ = ["main"]

_ANSWER_SECONDS = 3.0
_PROBE_SECONDS = 8.0
"""Counted once this module is imported: a slow machine is no missing network."""


def main(arguments: list[str]) -> None:
    """Fetch the named files of a repository into a folder; every failure is an exception.

    Parameters
    ----------
    arguments
        Repository, folder, `--cached` to take only what the hub's client has on this machine, file names.
    """
    repository, folder, *names = arguments
    if not names:
        _probe(repository)
    elif names[0] == "--cached":
        for name in names[1:]:
            _copy_cached(repository, name, Path(folder))
    else:
        for name in names:
            hf_hub_download(repository, name, local_dir=folder, etag_timeout=_ANSWER_SECONDS)


def _probe(repository: str) -> None:
    """Ask for a repository; looking up the hub's name may take for ever, so it is left behind in time."""
    failures: list[Exception] = []

    def ask() -> None:
        try:
            HfApi().model_info(repository, timeout=_ANSWER_SECONDS)
        except Exception as error:  # noqa: BLE001 - raised again by the thread that waits
            failures.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(_PROBE_SECONDS)
    if asking.is_alive():
        raise TimeoutError(f"no answer within {_PROBE_SECONDS:g} s")
    if failures:
        raise failures[0]


def _copy_cached(repository: str, name: str, folder: Path) -> None:
    cached = try_to_load_from_cache(repository, name)
    if not isinstance(cached, str):
        raise FileNotFoundError(f"{name} of {repository} is not on this machine")
    shutil.copyfile(cached, folder / name)


if __name__ == "__main__":
    main(sys.argv[1:])
