"""The component that all vectors of an encoder share, and its removal.

Some encoders give any two texts a high cosine, 0.83 on average for multilingual-e5-small, because one large
component is in every vector. Without it the cosines of unrelated texts lie where those of other encoders lie
(0.2 to 0.3 on average), so that scores, thresholds and communities mean the same for all of them.
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING

import numpy as np

from ytrag_core.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["decode_centre", "without_centre"]


def decode_centre(text: str, dimension: int) -> NDArray[np.float32] | None:
    """Decode the centre that a description holds.

    Parameters
    ----------
    text
        Float16 values, little-endian, in base64; empty where nothing is to be removed.
    dimension
        How many they must be.

    Returns
    -------
    ndarray or None
        (dimension,) float32; None for an empty text.

    Raises
    ------
    ModelError
        If the text is not of that form.
    """
    if not text:
        return None
    try:
        data = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ModelError(f"the centre of an encoder is not base64: {error}") from error
    if len(data) != 2 * dimension:
        raise ModelError(f"the centre of an encoder has {len(data)} bytes, wanted {2 * dimension}")
    centre = np.frombuffer(data, "<f2").astype(np.float32)
    if not np.isfinite(centre).all():
        raise ModelError("the centre of an encoder has values that are not finite")
    return centre


def without_centre(vectors: NDArray[np.float32], centre: NDArray[np.float32]) -> NDArray[np.float32]:
    """Subtract the centre from each vector and bring what is left to length 1.

    Parameters
    ----------
    vectors
        (n, dimension) float32, unit-norm rows.
    centre
        (dimension,) float32.

    Returns
    -------
    ndarray
        (n, dimension) float32, unit-norm rows; a row that equals the centre becomes zero.

    Notes
    -----
    The centring of Mu and Viswanath 2018, "All-but-the-Top" (section 2), without their removal of further
    components. Each row is computed by itself, so a text's vector does not depend on its neighbours.
    """
    apart = vectors - centre
    lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
    apart /= np.maximum(lengths, np.float32(1e-12))[:, None]
    return apart
