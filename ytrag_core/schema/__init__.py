"""A graph schema: load, validate, draft, evolve and review."""
