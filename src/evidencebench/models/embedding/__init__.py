"""Turn texts into vectors, each computed once and then read from a cache.

In reading order:

* `encoder`: Encoder protocol, formats of texts, vectors on disk
* `server`: Vectors from a server
* `local`: sentence-transformers: folder, checks, batches
* `onnx`: Local models on ONNX Runtime
"""
