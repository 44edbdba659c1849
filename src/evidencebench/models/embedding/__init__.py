"""Texts to vectors: models, endpoints and the cache that keeps what they computed."""
