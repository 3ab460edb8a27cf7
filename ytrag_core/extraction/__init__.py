"""Chunks to extractions: entities, types, attributes and triples."""
