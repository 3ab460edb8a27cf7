"""Makes minilm_reference.json: vectors of all-MiniLM-L6-v2 as sentence-transformers computes them.

Run in an environment of its own that has torch and sentence-transformers:

    python make_minilm_reference.py FOLDER

where FOLDER holds the published model (model.safetensors, tokenizer.json and its other files). Without FOLDER
the model is fetched from the hub.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sys
from importlib import import_module
from pathlib import Path

TEXTS = [
    "",
    " ",
    "a",
    "The",
    "Paris",
    "PARIS",
    "paris ",
    "Nenciulești",
    "São Tomé and Príncipe",
    "Ludwig van Beethoven",
    "J. R. R. Tolkien",
    "McDonnell Douglas F-15E Strike Eagle",
    "2023",
    "12 March 1987",
    "3.14159",
    "https://example.org/a/b?c=d#e",
    "born in",
    "place_of_birth",
    "country of citizenship",
    "Nenciulești located in Romania",
    "Marie Curie award received Nobel Prize in Physics",
    "Alan Turing educated at King's College, Cambridge",
    "the Danube flows through Vienna",
    "Which country is Nenciulești located in?",
    "Who is the spouse of the director of the film that was shot in Casablanca?",
    "When was the institution that the author of the book attended founded?",
    "The quick brown fox jumps over the lazy dog.",
    'She said: "No -- it isn\'t; (not yet)", and left...',
    "line one\nline two\r\n\tline three",
    "snake_case camelCase kebab-case ALLCAPS",
    "中文",
    "北京是中华人民共和国的首都。",
    "贾宝玉和林黛玉是什么关系？",
    "東京 東京タワー ひらがな",
    "Москва — столица России",
    "مرحبا بالعالم",
    "😀🎉 party 👩‍👩‍👧‍👦",
    "½ ﬁ ① Å é é",
    "x" * 300,
    "The Treaty of Westphalia ended the Thirty Years' War in 1648. It was signed in Osnabrück and Münster, "
    "two towns of Westphalia, by the Holy Roman Emperor, by France, by Sweden and by their allies among the "
    "princes of the Empire. Historians have long debated whether it founded the system of sovereign states.",
    " ".join(
        f"In the year {1500 + step} the town counted {step * 37} souls and {step} mills."
        for step in range(60)
    ),
    "一座城市的历史从它的河流开始。" * 40,
    "\t\n ",
    "...",
    "#",
    "0",
    "C++",
    "O'Neill & Sons (Dublin) Ltd.",
    "Île-de-France",
    "胡家庄村村委会",
    "香港特別行政區",
    "서울특별시",
    "नई दिल्ली",
    "🏴‍☠️🏴‍☠️",
    "😀",
    "Damerjog country Djibouti",
    "Journal of Mathematical Physics published by American Institute of Physics",
    "recombinant deoxyribonucleic acid, recombinant DNA",
    "Who was the first president of Damerjog's country?",
    "《红楼梦》的作者是谁？ Who wrote Dream of the Red Chamber?",
    "river " * 254,
    "the old town " * 770,
    "😀🎉" * 5000,
    "河" * 10000,
]


def main() -> None:
    names = ("torch", "sentence_transformers", "transformers", "tokenizers", "numpy")
    modules = {name: import_module(name) for name in names}
    source = sys.argv[1] if len(sys.argv) > 1 else "sentence-transformers/all-MiniLM-L6-v2"
    model = modules["sentence_transformers"].SentenceTransformer(source, device="cpu")
    vectors = [model.encode(text, normalize_embeddings=True) for text in TEXTS]
    weights = Path(source) / "model.safetensors"
    made_by = {
        "model": "sentence-transformers/all-MiniLM-L6-v2",
        "weights_sha256": hashlib.sha256(weights.read_bytes()).hexdigest() if weights.is_file() else "",
        "max_tokens": model.max_seq_length,
        "python": platform.python_version(),
        **{name: module.__version__ for name, module in modules.items()},
    }
    rows = [
        {"text": text, "vector": [float(f"{value:.7g}") for value in vector]}
        for text, vector in zip(TEXTS, vectors, strict=True)
    ]
    body = ",\n".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows)
    target = Path(__file__).with_name("minilm_reference.json")
    target.write_text(f'{{"made_by":{json.dumps(made_by)},\n"rows":[\n{body}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
