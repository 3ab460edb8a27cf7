"""Evidence to an answer, with or without a language model."""
