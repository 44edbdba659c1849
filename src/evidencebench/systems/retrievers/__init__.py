"""Systems without a language model that rank sentences, one a file.

Read what they share: `tokens`, `scores` and `vectors`; then the systems: `bm25`, `tfidf`, `dense`, `dense_api`,
`rerank` and `fusion`.
"""
