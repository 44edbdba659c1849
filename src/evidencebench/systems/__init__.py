"""The systems: each gets a query and a task, and returns a ranking; no system sees a label.

In reading order:

* `controls`: Controls: random, lead, ..., oracle
* `changed_queries`: Wrong hypothesis, two papers, shuffled words
* `stored`: Answers from a file
* `words`: Terms of sentences, cut once; topic words
* `bm25`: BM25
* `tfidf`: TF-IDF
* `dense`: Dense, MiniLM, DenseApi
* `rerank`: Cross-encoder
* `fusion`: Fuse; scores on one scale
* `diverse`: Diverse: similarity, orders without repetition
* `cues`: Cues: what a sentence says of itself, without training
* `question`: The parts of a question in any wording
* `relevance`: Parts of a hypothesis, how sentences speak of them
* `reporting`: Reporting items that a sentence reports, and that a question asks for
* `features`: The table of features and its columns
* `finder`: Finder and its model
* `verdict`: Whether a paper answers a question
* `directions`: What a sentence reports of the outcome
* `program`: exec: a program in any language
* `lexicon`: The lexicon of cues, and the rhetorical roles of sentences
* `paper_columns`: The columns of a paper that features are made of
* `trees`: Gradient-boosted trees, evaluated without the library that made them
* `llm`: llm
"""
