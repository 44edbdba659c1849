"""llm.

In reading order:

* `prompts`: Prompts, forms of replies, their checksums
* `asking`: Asker, Question, converse, converse_all, ask_until_read
* `excerpts`: The part of a paper that a prompt shows; windows
* `selecting`: llm_base, llm_in_context, llm_rerank, llm_sections
* `ranking`: llm_rank
* `voting`: llm_vote
* `rewriting`: Negated and paraphrased hypotheses; directions by a model
"""
