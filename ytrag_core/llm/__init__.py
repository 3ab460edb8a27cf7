"""Language models behind OpenAI-compatible endpoints: what is said to them, and what they reply."""
