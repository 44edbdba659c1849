"""Systems that rank sentences without a language model.

Read first the modules that they share: `tokens`, `sentence_words` (a paper's words, cut once), `scores` and `vectors`.
Then read the systems: `bm25`, `tfidf`, `dense`, `dense_api`, `rerank` and `fusion`.
"""
