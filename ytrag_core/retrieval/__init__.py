"""A question to evidence: routes, fusion, provenance."""
