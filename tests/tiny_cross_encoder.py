"""A real cross-encoder in ONNX that is small enough to know its answer: the words that two texts share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def write_cross_encoder(
    folder: Path,
    words: Sequence[str],
    *,
    n_classes: int = 1,
    with_types: bool = True,
    dtype: int = TensorProto.INT64,
) -> Path:
    """Write a cross-encoder that scores a pair by how many tokens of the passage are in the question.

    Two texts are told apart by their token types; without these the score is the number of tokens. With two
    classes the first one's number is 1 always.
    """
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = {word: row for row, word in enumerate(dict.fromkeys([*SPECIAL, *words]))}
    _write_tokenizer(folder, vocabulary)
    nodes, initializers = [], []

    def constant(name: str, array: NDArray[Any]) -> str:
        initializers.append(numpy_helper.from_array(array, name))
        return name

    def op(kind: str, *inputs: str, output: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    weight = np.ones(len(vocabulary), np.float32)
    weight[: len(SPECIAL)] = 0.0
    mask = op("Cast", "attention_mask", output="mask", to=TensorProto.FLOAT)
    counts = op("Gather", constant("weight", weight), "input_ids", output="counts")
    counted = op("Mul", counts, mask, output="counted")
    if with_types:
        second = op("Cast", "token_type_ids", output="second", to=TensorProto.FLOAT)
        first = op("Sub", constant("one", np.ones(1, np.float32)), second, output="first")
        in_first = op("Mul", counted, first, output="in_first")
        in_second = op("Mul", counted, second, output="in_second")
        column = op("Unsqueeze", "input_ids", constant("axis1", np.array([2])), output="column")
        row = op("Unsqueeze", "input_ids", constant("axis2", np.array([1])), output="row")
        same = op("Cast", op("Equal", column, row, output="equal"), output="same", to=TensorProto.FLOAT)
        left = op("Unsqueeze", in_first, "axis2", output="left")
        seen = op("MatMul", left, same, output="seen")
        flat = op("Squeeze", seen, "axis2", output="flat")
        known = op("Min", flat, "one", output="known")
        counted = op("Mul", known, in_second, output="shared")
    total = op("ReduceSum", counted, constant("last", np.array([1])), output="total", keepdims=1)
    if n_classes == 2:
        ones = op(
            "Div",
            total,
            op("Max", total, constant("tiny", np.array([1e-6], np.float32)), output="m"),
            output="d",
        )
        no = op("Sub", op("Add", ones, "one", output="two"), ones, output="no")
        total = op("Concat", no, total, output="both", axis=1)
    op("Identity", total, output="logits")
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if with_types else [])]
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, dtype, ["batch", "length"]) for name in names],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["batch", n_classes])],
        initializers,
    )
    if n_classes == 2 and not with_types:
        initializers.append(numpy_helper.from_array(np.ones(1, np.float32), "one"))
        graph.initializer.append(initializers[-1])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    return folder


def _write_tokenizer(folder: Path, vocabulary: dict[str, int]) -> None:
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.enable_padding(length=64)
    tokenizer.save(str(folder / "tokenizer.json"))
