"""Compute the centre of multilingual-e5-small's vectors: `python -m benches.e5_centre FOLDER_OF_DATA`.

All its vectors share one large component, so that texts without any relation have a cosine of 0.83. The
encoder takes that component away. It is the mean over texts of three groups that weigh the same (English,
Chinese, other languages), each as questions and as passages, and in the first two groups names or clauses
and paragraphs alike. No text of an evaluation is among them.
"""

from __future__ import annotations

import base64
import re
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.parquet as pq

from ytrag_core.embedding.description import MULTILINGUAL_E5_SMALL
from ytrag_core.embedding.encoder import Encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

_N_TEXTS = 150
_PARAGRAPH = (100, 400)
_CLAUSE = (2, 12)
_OTHER = (
    "Die Bahn nach Hamburg fährt heute erst am Abend.",
    "Die Bäckerei an der Ecke",
    "Welche Pflanzen wachsen im Schatten?",
    "Le médecin a prescrit un nouveau traitement contre la fièvre.",
    "Le pont du village",
    "Combien de lacs y a-t-il dans cette région ?",
    "La empresa anunció ayer la apertura de tres fábricas.",
    "El mercado de las flores",
    "¿Quién pintó este retrato?",
    "Il fiume attraversa la pianura e sfocia nel mare.",
    "La chiesa sulla collina",
    "O governo aprovou uma lei sobre a pesca.",
    "A biblioteca da universidade",
    "Новый телескоп увидел далёкую галактику.",
    "Железнодорожная станция",
    "Кто написал эту симфонию?",
    "Поле засіяли пшеницею ще навесні.",
    "Rada miasta zgodziła się na budowę mostu.",
    "Kościół z cegły",
    "Hasta sabah erkenden hastaneden ayrıldı.",
    "Eski liman",
    "افتتح المتحف أبوابه للزوار في الصباح.",
    "مدينة على ضفة النهر",
    "من اخترع هذا الجهاز؟",
    "این کتاب درباره تاریخ موسیقی است.",
    "वैज्ञानिकों ने एक नई प्रजाति की खोज की।",
    "पुराना किला",
    "এই নদী পাহাড় থেকে নেমে আসে।",
    "この工場では毎年一万台の時計を作っている。",
    "駅前の本屋",
    "誰がこの橋を設計しましたか。",
    "새로운 법은 내년부터 시행된다.",
    "오래된 시장",
    "이 노래를 부른 가수는 누구입니까?",
    "Hội đồng đã duyệt kế hoạch xây trường học.",
    "Chợ cá bên sông",
    "นักวิจัยศึกษาการอพยพของนก",
    "Kapal itu berlayar dari pelabuhan timur.",
    "Rumah sakit di kota kecil",
    "Το νησί έχει τρία χωριά και ένα λιμάνι.",
    "המפעל מייצר חלקים למטוסים.",
    "De gemeente plant duizend bomen langs de weg.",
    "Den gamla kvarnen vid ån",
    "Kuka voitti kilpailun viime vuonna?",
    "A tó télen gyakran befagy.",
    "Muzeul se află în centrul orașului.",
)


def main(data: Path) -> None:
    """Print the centre as the constant that the source holds."""
    encoder = Encoder.load(description=replace(MULTILINGUAL_E5_SMALL, centre=""), precision="fp32")
    names = pq.read_table(data / "large_kg" / "nodes.parquet", columns=["name"])["name"].to_pylist()
    groups: list[list[list[str]]] = [
        [_sample(names), _paragraphs(data / "docs" / "en")],
        [_clauses(data / "docs" / "zh"), _paragraphs(data / "docs" / "zh")],
        [list(_OTHER)],
    ]
    centre = _average([_average([_mean(encoder, texts) for texts in group]) for group in groups])
    text = base64.b64encode(centre.astype("<f2").tobytes()).decode()
    print(f"norm {np.linalg.norm(centre):.4f}")
    print("\n".join(f'    "{line}"' for line in textwrap.wrap(text, 96)))


def _average(vectors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    return np.asarray(np.mean(vectors, axis=0), np.float64)


def _mean(encoder: Encoder, texts: list[str]) -> NDArray[np.float64]:
    """Return the mean vector of texts, half as questions and half as passages."""
    questions = [encoder.encode_query(text).astype(np.float64) for text in texts]
    return _average([_average(questions), _average(list(encoder.encode(texts).astype(np.float64)))])


def _sample(texts: list[str]) -> list[str]:
    """Return some of the texts, spread evenly."""
    return texts[:: max(len(texts) // _N_TEXTS, 1)][:_N_TEXTS]


def _plain(folder: Path) -> str:
    files = sorted([*folder.glob("*.txt"), *folder.glob("*.md")])
    return "\n\n".join(file.read_text(encoding="utf-8") for file in files)


def _paragraphs(folder: Path) -> list[str]:
    shortest, longest = _PARAGRAPH
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", _plain(folder)))
    return _sample([part[:longest] for part in paragraphs if len(part) >= shortest])


def _clauses(folder: Path) -> list[str]:
    shortest, longest = _CLAUSE
    clauses = re.findall(r"[\u4e00-\u9fff]+", _plain(folder))
    return _sample([clause for clause in clauses if shortest <= len(clause) <= longest])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
