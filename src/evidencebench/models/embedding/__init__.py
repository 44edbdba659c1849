"""Turn texts into vectors, each computed once and then read from a cache.

Read `formats` (how texts are written), `vector_cache`, `encoder` (the protocol, and the use of the cache), `folder` (a
model's files), then the encoders: `transformer`, `onnx`, `endpoint`.
"""
