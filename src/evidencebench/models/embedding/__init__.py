"""Texts to vectors, each computed once.

Read `formats` (how texts are written), `vector_cache`, `encoder` (the contract, and the way through the cache), then
what computes: `folder` (a model's files), `transformer`, `onnx`, `endpoint`.
"""
