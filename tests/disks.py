"""Places that tests break: file systems of a few megabytes, copies of a directory from before each change."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path


@contextmanager
def small_file_system(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a file system of its own at a new folder, or skip the test."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs"]
    if subprocess.run(["mount", *options, folder], capture_output=True, check=False).returncode:
        pytest.skip("may not mount a small file system here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def photograph(
    root: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    watched: Iterable[str],
    run: Callable[[], object],
) -> list[Path]:
    """Return copies of `root`, where it is there, from before every call of some functions of `os`."""
    images: list[Path] = []
    busy = False

    def watch(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal busy
            if not busy and root.exists():
                busy = True
                images.append(folder / str(len(images)))
                shutil.copytree(root, images[-1])
                busy = False
            return real(*arguments, **options)

        return call

    with monkeypatch.context() as patched:
        for name in watched:
            patched.setattr(os, name, watch(getattr(os, name)))
        run()
    return images
