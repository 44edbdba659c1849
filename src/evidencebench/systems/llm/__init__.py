"""Systems that ask a language model.

In reading order:

* `prompts`: Prompts, forms of replies, their checksums
* `asking`: Asker, Question, converse, ask_until_read
* `excerpts`: The part of a paper that a prompt shows, the question about it, the options that all share
* `selecting`: llm_base with or without examples, llm_rerank, llm_sections
* `ranking`: llm_rank
* `voting`: llm_vote
* `rewriting`: Negated and paraphrased hypotheses; directions by a model
"""
