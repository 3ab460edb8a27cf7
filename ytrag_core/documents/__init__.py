"""Files to documents to chunks."""
