"""Papers and reviews become a data set, step by step.

In reading order:

* `draft`: Draft, an instance in the making, and the files of drafts
* `edits`: What people change in drafts, laid over what the steps make
* `config`: construction.toml, and what decides a data set
* `pipeline`: All steps, one after the other; how far they are
* `step`: A step that asks a model: run over drafts, gone on with after a stop
* `writing`: The steps that write summaries, hypotheses, aspects and labels of Results
* `checks`: Checks of what a model wrote, without a model
* `judge`: The step that judges sentences, window by window
* `recheck`: asks doubtful sentences again, in other windows or of a second model
* `noise`: How many labels are right, and how many are missing
* `estimate`: What the steps that are left will cost
* `demo`: A synthetic review, and the data set that must come of it
* `harvest`: Passages of reviews, each about one paper, from citation marks and reference lists; no model is asked
* `people`: People check the labels: what they are asked, what they answered, and how well they agree with the model
* `audit`: Misses of a run that people look at, and the score corrected by what they say
* `losses`: What the steps drop: the filter, the losses of each step
* `leakage`: Same papers, in other data sets too; splits that share none
* `assemble`: Judged drafts become a data set: a folder with files of splits, datasheet, manifest and what was dropped
"""
