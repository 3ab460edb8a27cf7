"""Numba kernels: arrays in, arrays out."""

if __name__ != "ytrag_core.kernels":
    raise ImportError(
        f"this folder was imported as {__name__!r}; it is a part of ytrag, imported as 'ytrag_core.kernels'"
    )
