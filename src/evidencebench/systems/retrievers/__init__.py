"""Systems that rank sentences without a language model.

Read first the modules that they share: `tokens`, `scores` and `vectors`. Then read the systems: `bm25`, `tfidf`,
`dense`, `dense_api`, `rerank` and `fusion`.
"""
