"""sentence-transformers behind a pipe: reads requests as JSON lines, answers with seconds.

`encoder_ratio.py` runs it in an environment of its own. A request names a file with a JSON list of texts; it
is answered with the seconds that encoding them took, all at once or one by one. The vectors are written where
the request says so.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any


def main() -> None:
    source, n_threads = sys.argv[1], int(sys.argv[2])
    clock = time.process_time if sys.argv[3] == "cpu" else time.perf_counter
    numpy = import_module("numpy")
    torch = import_module("torch")
    library = import_module("sentence_transformers")
    torch.set_num_threads(n_threads)
    model: Any = library.SentenceTransformer(source, device="cpu")
    model.encode(["warm up"] * 8, show_progress_bar=False)
    versions = {"torch": torch.__version__, "sentence-transformers": library.__version__}
    print(json.dumps({"ready": versions}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        texts = json.loads(Path(request["texts"]).read_text(encoding="utf-8"))
        batches = [[text] for text in texts] if request["one_by_one"] else [texts]
        seconds, vectors = [], []
        for batch in batches:
            started = clock()
            vectors.append(model.encode(batch, normalize_embeddings=True, show_progress_bar=False))
            seconds.append(clock() - started)
        if request["vectors"]:
            numpy.save(request["vectors"], numpy.concatenate(vectors))
        print(json.dumps({"seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
