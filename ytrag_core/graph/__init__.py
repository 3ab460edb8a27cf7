"""Extractions to node and edge tables to CSR."""
