"""Texts to vectors: models, endpoints and the store that keeps what they computed."""
