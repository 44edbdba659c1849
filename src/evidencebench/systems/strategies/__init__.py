"""Strategies that ask a language model for evidence, one a file, and what they share.

`whole_paper`, `in_context`, `sections`, `reranking`, `ranking` and `voting` are the strategies. All that select share
`selecting`; `paper_questions`, `forms` and `prompts` write what is asked; `excerpt` and `windows` choose what of the
paper is shown; `conversation` asks, reads and asks again. `options` checks options; `example_file` reads examples.
`rewriting` has hypotheses negated and paraphrased; `direction_reading` has found sentences read for what they report;
both ask by `asking_again`.
"""
