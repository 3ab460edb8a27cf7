"""Texts to vectors: the ONNX encoder and the vector index."""
