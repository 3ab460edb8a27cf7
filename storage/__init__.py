"""A knowledge base on disk."""

if __name__ != "ytrag_core.storage":
    raise ImportError(
        f"this folder was imported as {__name__!r}; it is part of ytrag and imported as 'ytrag_core.storage'"
    )
