"""A graph schema: load and validate."""
