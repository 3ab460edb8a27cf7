"""Users' own encoders: folders described, converted, wrapped, tried and refused; real files, no network."""

from __future__ import annotations

import json
import os
import tomllib
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.tiny_encoder import HEADS, HIDDEN, MAX_TOKENS, WORDS, forward, tiny_weights, write_published
from ytrag_core.embedding.cache import cached_files
from ytrag_core.embedding.encoder import Encoder
from ytrag_core.embedding.own_centre import unrelated_similarity, with_centre
from ytrag_core.embedding.own_convert import convert_folder, prepare_own
from ytrag_core.embedding.own_model import describe_folder
from ytrag_core.embedding.own_settings import settings_text
from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

TEXTS = ["born in the town", "river", "", "a b c d e f g a b c d e f g"]
CONFIG = {
    "_name_or_path": "someone/tiny-own",
    "model_type": "bert",
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "layer_norm_eps": 1e-12,
    "max_position_embeddings": 32,
}
WIDTH = 6


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    folder = tmp_path / "bert"
    write_published(folder, tiny_weights())
    write_json(folder / "config.json", CONFIG)
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": MAX_TOKENS})
    return folder


def load(folder: Path, cache: Path, **options: Any) -> Encoder:
    return Encoder.load(description=describe_folder(folder), cache=cache, **options)


def says(folder: Path, text: str) -> None:
    (folder / "encoder.toml").write_text(text, encoding="utf-8")


def tables(seed: int = 3) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rng = np.random.default_rng(seed)
    words = rng.standard_normal((len(WORDS), WIDTH)).astype(np.float32)
    return words, rng.standard_normal((2, WIDTH)).astype(np.float32)


def write_onnx(
    folder: Path,
    *,
    ids: str = "input_ids",
    mask: str = "attention_mask",
    segments: str = "token_type_ids",
    integer: int = TensorProto.INT64,
    pooled: bool = False,
    scale: float = 1.0,
    names: tuple[str, ...] = ("last_hidden_state",),
) -> Path:
    """Write an encoder whose token vectors are the sum of a word's row and a segment's row."""
    write_published(folder, tiny_weights())
    (folder / "model.safetensors").unlink()
    words, kinds = tables()
    nodes = [helper.make_node("Gather", ["words", ids], ["by_word"])]
    if segments:
        nodes.append(helper.make_node("Gather", ["kinds", segments], ["by_kind"]))
        nodes.append(helper.make_node("Add", ["by_word", "by_kind"], ["states"]))
    else:
        nodes.append(helper.make_node("Identity", ["by_word"], ["states"]))
    if pooled:
        nodes.append(helper.make_node("Gather", ["states", "first"], ["cls"], axis=1))
        nodes.append(helper.make_node("LpNormalization", ["cls"], ["unit"], axis=-1, p=2))
        nodes.append(helper.make_node("Mul", ["unit", "scale"], [names[0]]))
    else:
        nodes.append(helper.make_node("Identity", ["states"], [names[0]]))
    nodes += [helper.make_node("Identity", [names[0]], [name]) for name in names[1:]]
    shape: list[Any] = ["b", WIDTH] if pooled else ["b", "n", WIDTH]
    inputs = [name for name in (ids, segments, mask) if name]
    graph = helper.make_graph(
        nodes,
        "foreign",
        [helper.make_tensor_value_info(name, integer, ["b", "n"]) for name in inputs],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names],
        [
            numpy_helper.from_array(words, "words"),
            numpy_helper.from_array(kinds, "kinds"),
            numpy_helper.from_array(np.array(0, np.int64), "first"),
            numpy_helper.from_array(np.array(scale, np.float32), "scale"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


def plain(encoder: Encoder, text: str, pooling: str, *, with_segment: bool = True) -> NDArray[np.float32]:
    words, kinds = tables()
    ids = encoder.tokenizer.encode(text).ids[:32]
    states = words[ids] + (kinds[0] if with_segment else 0)
    vector: NDArray[np.float32] = states.mean(axis=0) if pooling == "mean" else states[0]
    vector /= np.linalg.norm(vector)
    return vector


def test_everything_is_guessed_from_the_files_beside_the_weights(bert: Path, tmp_path: Path) -> None:
    write_json(
        bert / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "passage: "}}
    )
    description = describe_folder(bert)
    assert (description.name, description.dimension, description.n_heads) == ("tiny-own", HIDDEN, HEADS)
    assert (description.pooling, description.max_tokens, description.language) == ("mean", MAX_TOKENS, "und")
    assert (description.query_prefix, description.passage_prefix) == ("query: ", "passage: ")
    encoder = load(bert, tmp_path / "cache", precision="fp32")
    ids = encoder.tokenizer.encode("passage: river").ids
    np.testing.assert_allclose(encoder.encode(["river"])[0], forward(tiny_weights(), ids), atol=2e-6)


def test_the_toml_that_is_shown_can_be_saved(bert: Path) -> None:
    description = describe_folder(bert)
    text = settings_text(description)
    assert tomllib.loads(text)["n_heads"] == HEADS
    says(bert, text)
    assert describe_folder(bert) == description
    says(bert, 'alias_similarity = 0.9\nlanguage = "zh"\nquery_prefix = "问：\\t\\"x\\""\n')
    changed = describe_folder(bert)
    assert (changed.alias_similarity, changed.language, changed.query_prefix) == (0.9, "zh", '问：\t"x"')
    says(bert, settings_text(changed))
    assert describe_folder(bert) == changed


def test_the_first_token_can_be_the_vector(bert: Path, tmp_path: Path) -> None:
    mean = load(bert, tmp_path / "cache")
    write_json(
        bert / "1_Pooling" / "config.json",
        {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 8},
    )
    first = load(bert, tmp_path / "cache")
    assert first.description.pooling == "cls"
    assert first.fingerprint != mean.fingerprint
    assert not np.allclose(first.encode(TEXTS), mean.encode(TEXTS))
    np.testing.assert_allclose(np.linalg.norm(first.encode(TEXTS), axis=1), 1, atol=1e-6)


def test_int8_is_made_from_safetensors_only(bert: Path, tmp_path: Path) -> None:
    exact, small = (load(bert, tmp_path / "cache", precision=wanted) for wanted in ("fp32", "int8"))
    assert exact.fingerprint != small.fingerprint
    assert (exact.encode(TEXTS) * small.encode(TEXTS)).sum(axis=1).min() > 0.9
    foreign = write_onnx(tmp_path / "foreign")
    assert load(foreign, tmp_path / "cache").precision == "fp32"
    with pytest.raises(ModelError, match=r"model\.onnx, which is used as it is: choose --precision fp32"):
        load(foreign, tmp_path / "cache", precision="int8")


def test_the_fingerprint_follows_the_files_and_what_is_said(bert: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    before = load(bert, cache).fingerprint
    assert load(bert.rename(tmp_path / "moved"), cache).fingerprint == before
    moved = tmp_path / "moved"
    says(moved, "n_heads = 4\n")
    other = load(moved, cache).fingerprint
    (moved / "encoder.toml").unlink()
    write_published(moved, tiny_weights(seed=1))
    assert len({before, other, load(moved, cache).fingerprint}) == 3


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("integer", [TensorProto.INT64, TensorProto.INT32])
def test_a_foreign_onnx_is_pooled_and_normalised(tmp_path: Path, pooling: str, integer: int) -> None:
    folder = write_onnx(tmp_path / "foreign", integer=integer)
    says(folder, f'pooling = "{pooling}"\nmax_tokens = 32\n')
    encoder = load(folder, tmp_path / "cache")
    assert (encoder.dimension, encoder.description.weights_format) == (WIDTH, "onnx")
    wanted = np.stack([plain(encoder, text, pooling) for text in TEXTS])
    np.testing.assert_allclose(encoder.encode(TEXTS), wanted, atol=1e-6)
    np.testing.assert_allclose(encoder.encode_query(TEXTS[0]), wanted[0], atol=1e-6)


def test_other_names_of_inputs_and_several_outputs(tmp_path: Path) -> None:
    folder = write_onnx(
        tmp_path / "foreign", ids="ids", mask="padding_mask", segments="", names=("a", "last_hidden_state")
    )
    says(folder, "max_tokens = 32\n")
    encoder = load(folder, tmp_path / "cache")
    wanted = plain(encoder, TEXTS[0], "mean", with_segment=False)
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], wanted, atol=1e-6)
    says(folder, 'max_tokens = 32\noutput = "nowhere"\n')
    with pytest.raises(ModelError, match="called nowhere"):
        describe_folder(folder)


def test_an_onnx_that_fits_is_used_where_it_lies(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "fits", segments="", pooled=True, names=("sentence_embedding",))
    says(folder, "max_tokens = 32\nnormalise = false\n")
    encoder = load(folder, tmp_path / "cache")
    wanted = plain(encoder, TEXTS[0], "cls", with_segment=False)
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], wanted, atol=1e-6)
    assert not list((tmp_path / "cache").rglob("*.onnx"))
    again = load(folder, tmp_path / "cache")
    np.testing.assert_array_equal(again.encode(TEXTS), encoder.encode(TEXTS))
    assert list(cached_files(tmp_path / "cache")) == []
    ready = tmp_path / "ready"
    convert_folder(folder, ready)
    assert (ready / "model.onnx").read_bytes() == (folder / "model.onnx").read_bytes()
    assert load(ready, tmp_path / "none").fingerprint == encoder.fingerprint


@pytest.mark.parametrize("pooled", [True, False])
def test_an_onnx_without_a_mask_is_taken_as_nothing_is_padded(tmp_path: Path, pooled: bool) -> None:
    name = "sentence_embedding" if pooled else "last_hidden_state"
    folder = write_onnx(tmp_path / "bare", mask="", segments="", pooled=pooled, names=(name,))
    says(folder, "max_tokens = 32\n" + ("normalise = false\n" if pooled else 'pooling = "mean"\n'))
    encoder = load(folder, tmp_path / "cache")
    wanted = plain(encoder, TEXTS[0], "cls" if pooled else "mean", with_segment=False)
    np.testing.assert_allclose(encoder.encode(TEXTS[:1])[0], wanted, atol=1e-6)
    assert len(list((tmp_path / "cache").rglob("*.onnx"))) == (0 if pooled else 1)


def test_a_converted_graph_alone_is_an_encoder_too(bert: Path, tmp_path: Path) -> None:
    convert_folder(bert, tmp_path / "ready")
    (bert / "model.safetensors").unlink()
    (tmp_path / "ready" / "model.onnx").rename(bert / "model.onnx")
    says(bert, f"max_tokens = {MAX_TOKENS}\nnormalise = false\n")
    encoder = load(bert, tmp_path / "cache")
    ids = encoder.tokenizer.encode("river").ids
    np.testing.assert_allclose(encoder.encode(["river"])[0], forward(tiny_weights(), ids), atol=2e-6)


def test_vectors_that_are_not_of_length_1_are_told(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "long", segments="", pooled=True, scale=3.0, names=("sentence_embedding",))
    says(folder, "normalise = false\n")
    assert describe_folder(folder).max_tokens == 10
    with pytest.raises(ModelError, match="vectors of length 3, wanted 1: set normalise = true"):
        load(folder, tmp_path / "cache")
    says(folder, "max_tokens = 32\n")
    np.testing.assert_allclose(
        np.linalg.norm(load(folder, tmp_path / "cache").encode(TEXTS), axis=1), 1, atol=1e-6
    )
    says(folder, "max_tokens = 32\ndimension = 7\n")
    with pytest.raises(ModelError, match=r"6 wide, its encoder\.toml says 7"):
        load(folder, tmp_path / "cache")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = \n", r"encoder\.toml is not TOML"),
        ("dimensions = 8\n", "'dimensions' is unknown; known are name, weights"),
        ('dimension = "8"\n', r"'dimension' is '8': Input should be a valid integer"),
        ('pooling = "max"\n', "'pooling' is 'max'"),
        ("alias_similarity = 1.5\n", "'alias_similarity' is 1.5"),
        ('language = "English"\n', "'language' is 'English'"),
        ('name = "../x"\n', "'name' is '../x'"),
        ('name = "all-MiniLM-L6-v2"\n', "that of a built-in encoder"),
        ('weights = "model.onnx"\n', r"has no model\.onnx"),
        ("n_heads = 3\n", "8 dimensions do not divide by n_heads = 3"),
        ('pooling = "none"\n', "set pooling = "),
        ("normalise = false\n", "always normalised"),
    ],
)
def test_what_cannot_be_said(bert: Path, text: str, message: str) -> None:
    says(bert, text)
    with pytest.raises(ModelError, match=message):
        describe_folder(bert)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("config.json", CONFIG | {"model_type": "xlm-roberta"}, "only BERT's shape is converted"),
        ("config.json", CONFIG | {"hidden_act": "relu"}, "wanted gelu and absolute"),
        ("config.json", {}, "does not say n_heads"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "mean and cls are known"),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "adds Dense"),
    ],
)
def test_what_would_be_converted_wrongly_is_refused(
    bert: Path, name: str, content: object, message: str
) -> None:
    write_json(bert / name, content)
    with pytest.raises(ModelError, match=message):
        describe_folder(bert)


def test_folders_that_hold_no_encoder(bert: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a folder"):
        describe_folder(tmp_path / "nowhere")
    (bert / "tokenizer.json").rename(bert / "tokeniser.json")
    with pytest.raises(ModelError, match=r"has no tokenizer\.json"):
        describe_folder(bert)
    (bert / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=r"has no model\.onnx and no model\.safetensors"):
        describe_folder(bert)
    (bert / "model.onnx").write_bytes(b"not a graph")
    (bert / "tokeniser.json").rename(bert / "tokenizer.json")
    with pytest.raises(ModelError, match=r"model\.onnx (cannot be read as ONNX|holds no ONNX graph)"):
        describe_folder(bert)


def test_an_onnx_with_other_inputs_is_refused(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "foreign", segments="pixel_values")
    with pytest.raises(ModelError, match="has the inputs input_ids, pixel_values, attention_mask; wanted"):
        describe_folder(folder)


def test_a_converted_folder_is_ready_anywhere(bert: Path, tmp_path: Path) -> None:
    made = convert_folder(bert, tmp_path / "out" / "ready")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["ready"]
    assert (tmp_path / "out" / "ready" / "LICENSE").read_text() == "free\n"
    encoder = load(tmp_path / "out" / "ready", tmp_path / "none")
    source = load(bert, tmp_path / "cache", precision="fp32")
    assert encoder.fingerprint == source.fingerprint
    assert made == encoder.description
    np.testing.assert_array_equal(encoder.encode(TEXTS), source.encode(TEXTS))
    assert not (tmp_path / "none").exists()
    with pytest.raises(ModelError, match="not an empty folder"):
        convert_folder(bert, tmp_path / "out" / "ready")
    with pytest.raises(ModelError, match="converted already"):
        convert_folder(tmp_path / "out" / "ready", tmp_path / "out" / "twice")


def test_of_a_converted_folder_only_what_is_not_in_the_graph_can_change(bert: Path, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    convert_folder(bert, ready, "int8")
    assert load(ready, tmp_path / "none").precision == "int8"
    says(ready, "alias_similarity = 0.7\n")
    assert describe_folder(ready).alias_similarity == 0.7
    says(ready, 'pooling = "cls"\n')
    with pytest.raises(ModelError, match="was converted with pooling = 'mean'"):
        describe_folder(ready)
    says(ready, "")
    with pytest.raises(ModelError, match="holds int8-3 of tiny-own, fp32 was wanted"):
        load(ready, tmp_path / "none", precision="fp32")
    with (ready / "model.onnx").open("ab") as file:
        file.write(b"\0")
    with pytest.raises(ModelError, match="a file in it was changed"):
        load(ready, tmp_path / "none")
    (ready / "encoder.json").write_text('{"description": {}}')
    with pytest.raises(ModelError, match="is damaged"):
        describe_folder(ready)


def test_the_cache_knows_a_users_conversions(bert: Path, tmp_path: Path) -> None:
    load(bert, tmp_path / "cache", precision="fp32")
    files = {file.path.name: file for file in cached_files(tmp_path / "cache", "tiny-own")}
    assert set(files) == {"LICENSE", "model.onnx", "tokenizer.json"}
    assert all(file.problem() is None for file in files.values())
    files["model.onnx"].path.write_bytes(b"half")
    assert "has the sha256" in str(files["model.onnx"].problem())
    leftover = files["model.onnx"].path.parent.parent / ".partial-killed"
    leftover.mkdir()
    load(bert, tmp_path / "cache", precision="fp32").encode(["a"])
    assert not leftover.exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written(bert: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir(mode=0o500)
    with pytest.raises(ModelError, match="cannot be kept in"):
        load(bert, cache)


def test_what_all_vectors_share_can_be_taken_away(tmp_path: Path) -> None:
    folder = write_onnx(tmp_path / "alike")
    model = onnx.load(str(folder / "model.onnx"))
    common = 4 * np.ones(WIDTH, np.float32)
    (kinds,) = [tensor for tensor in model.graph.initializer if tensor.name == "kinds"]
    kinds.CopyFrom(numpy_helper.from_array(np.stack([common, common]), "kinds"))
    onnx.save(model, str(folder / "model.onnx"))
    encoder = load(folder, tmp_path / "cache")
    described, files = encoder.description, prepare_own(encoder.description, "fp32", tmp_path / "cache")
    assert unrelated_similarity(described, files) > 0.7
    measured = with_centre(described, files)
    says(folder, settings_text(measured))
    apart = load(folder, tmp_path / "cache")
    assert apart.description == measured
    assert apart.fingerprint != encoder.fingerprint
    cosine = {
        each: float(vectors[0] @ vectors[1])
        for each in (encoder, apart)
        for vectors in [each.encode(["born in the town", "a b c"])]
    }
    assert cosine[apart] < cosine[encoder] - 0.1
    assert with_centre(measured, files) is measured
    says(folder, 'centre = "no base64!"\n')
    with pytest.raises(ModelError, match="'centre' is 'no base64!'"):
        describe_folder(folder)
