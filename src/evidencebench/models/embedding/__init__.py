"""Texts to vectors, each computed once.

Read `formats` (how texts are written), `encoder` (the contract), `embedder` over `vector_cache` with its `inventory`;
then what computes: `transformer`, `onnx`, `endpoint`, and `folder` (a model's files).
"""
