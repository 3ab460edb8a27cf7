"""A very small random encoder in the packed 4-bit form, with what has to be read from it."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

HIDDEN, INNER, HEADS, LAYERS, POSITIONS = 32, 64, 2, 2, 24
PIECES = [
    "<s>",
    "<pad>",
    "</s>",
    "<unk>",
    "▁",
    "▁town",
    "▁riv",
    "er",
    "河",
    "流",
    "～",
    "~",
    "a",
    "A",
    "1",
    "が",
]
SPECIAL = (0, 2, 1, 3)


@dataclass
class TinyE5:
    """The parts of a packed file; change one, then call `pack`."""

    sizes: list[int] = field(
        default_factory=lambda: [HIDDEN, LAYERS, HEADS, INNER, len(PIECES), POSITIONS, 2]
    )
    pieces: list[str] = field(default_factory=lambda: list(PIECES))
    scores: list[float] = field(
        default_factory=lambda: [0.0] * 4 + [-2.0 - k / 8 for k in range(len(PIECES) - 4)]
    )
    magic: bytes = b"E5S1"
    version: int = 1
    block: int = 32
    floats: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    whole: dict[str, NDArray[np.int8]] = field(default_factory=dict)
    scales: dict[str, NDArray[np.float16]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(4)
        shapes: dict[str, tuple[int, ...]] = {
            "emb.word": (len(PIECES), HIDDEN),
            "emb.pos": (POSITIONS, HIDDEN),
        }
        shapes |= {"emb.type": (2, HIDDEN), "emb.ln.w": (HIDDEN,), "emb.ln.b": (HIDDEN,)}
        for layer in range(LAYERS):
            for part, n_out, n_in in (
                ("q", HIDDEN, HIDDEN),
                ("k", HIDDEN, HIDDEN),
                ("v", HIDDEN, HIDDEN),
                ("ao", HIDDEN, HIDDEN),
                ("fi", INNER, HIDDEN),
                ("fo", HIDDEN, INNER),
            ):
                shapes[f"l{layer}.{part}.w"] = (n_out, n_in)
                shapes[f"l{layer}.{part}.b"] = (n_out,)
            for part in ("aln", "oln"):
                shapes[f"l{layer}.{part}.w"] = shapes[f"l{layer}.{part}.b"] = (HIDDEN,)
        for name, shape in shapes.items():
            if len(shape) == 2 and name not in ("emb.pos", "emb.type"):
                self.whole[name] = rng.integers(-8, 8, shape).astype(np.int8)
                steps = rng.integers(1, 4, (shape[0], shape[1] // 32))
                self.scales[name] = (2.0 ** -(steps + 2)).astype(np.float16)
            else:
                self.floats[name] = rng.standard_normal(shape).astype(np.float16).astype(np.float32)

    def matrix(self, name: str) -> NDArray[np.float32]:
        """Return a packed matrix as it must be read; float16 holds it exactly."""
        scales = np.repeat(self.scales[name].astype(np.float32), 32, axis=1)
        matrix: NDArray[np.float32] = self.whole[name].astype(np.float32) * scales
        return matrix

    def pack(self) -> bytes:
        """Return the file."""
        text = [piece.encode() for piece in self.pieces]
        starts = np.cumsum([0, *(len(piece) for piece in text)]).astype("<u4")
        rule = struct.pack("<IBI", 0x3000, 1, 0x20)
        head = self.magic + struct.pack("<I7ifi", self.version, *self.sizes, 1e-12, self.block)
        head += struct.pack("<5iQ", len(text), *SPECIAL, int(starts[-1])) + starts.tobytes()
        head += np.array(self.scores, "<f4").tobytes() + b"".join(text)
        head += struct.pack("<iI", 1, len(rule)) + rule
        contents = {name: (1, array.size, self._blocks(name)) for name, array in self.whole.items()}
        contents |= {name: (0, array.size, array.tobytes()) for name, array in self.floats.items()}
        place = len(head) + 4 + sum(len(name) + 23 for name in contents)
        directory, body = struct.pack("<i", len(contents)), b""
        for name, (kind, n_items, content) in contents.items():
            entry = struct.pack("<BIQQ", kind, n_items, place + len(body), len(content))
            directory += struct.pack("<H", len(name)) + name.encode() + entry
            body += content
        return head + directory + body

    def _blocks(self, name: str) -> bytes:
        offset = (self.whole[name].reshape(-1, 2, 16) + 8).astype(np.uint8)
        halves = offset[:, 0] | (offset[:, 1] << 4)
        scales = self.scales[name].reshape(-1, 1).view(np.uint8)
        return np.hstack([scales, halves]).tobytes()
