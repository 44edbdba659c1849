"""Papers and reviews become a data set, step by step.

In reading order:

* `draft`: Draft and its file (a RecordFile)
* `config`: construct.toml
* `pipeline`: construct(): all steps; status
* `step`: Step: ask an object of a model, run over drafts, resume
* `writing`: summaries, hypotheses, aspects, label-results
* `judge`: judge: windows, votes
* `estimate`: What is left will cost
* `demo`: A synthetic review with the data set that must come of it
* `harvest`: Passages of reviews, each about one paper, from citation marks and reference lists; no model is asked
* `assembly`: Judged drafts become a data set: a folder with a file a split, a datasheet, a manifest and what was
dropped
* `people`: People check the labels: what they are asked, what they answered, and how well they agree with the model
* `audit`: audit(): sampling, causes, corrected scores
* `losses`: What the steps drop: the filter, the losses of each step
"""
