"""A small language model behind llama.cpp's own HTTP server; run as a script, in a process of its own.

Arguments: the folder that holds the package `xllamacpp`, and the model's file. The first line on standard
output is the address; the server ends when its standard input does, so that it outlives nobody.
"""

from __future__ import annotations

import sys
from importlib import import_module


def main(packages: str, weights: str) -> None:
    """Serve until standard input ends."""
    sys.path.insert(0, packages)
    llama = import_module("xllamacpp")
    settings = llama.CommonParams()
    settings.model.path = weights
    settings.hostnames = ["127.0.0.1"]
    settings.port = 0
    settings.n_ctx = 16384
    settings.n_parallel = 2
    settings.cpuparams.n_threads = 1  # two wait for each other by spinning, which a busy machine makes slow
    settings.warmup = False
    settings.ui = False
    server = llama.Server(settings)
    print(server.listening_address, flush=True)  # noqa: T201
    sys.stdin.read()


if __name__ == "__main__":
    main(*sys.argv[1:])
