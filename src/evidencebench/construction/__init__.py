"""Papers and reviews become a data set, step by step.

Read `draft` (what the steps hand on) and `draft_file` (how it lies on the disk).
`harvest/` finds passages of reviews that speak of one paper.
`steps/` asks a model, with `prompts/` and `paper_files`; `running` runs one of them over a file of the
`work_folder`.
`gold_studies` are what a trial server answers from; `synthetic_review` writes five papers, a review of them, and these.
`judged_draft` says what a judged one must have; `filtering` drops those with too few covered aspects; `assembly/` makes
the data set.
`config` names all that decides a data set, `pipeline` runs all steps of it, `standing` says how far they are,
`estimating` what is left of them will cost, with `model_use`.
`people/` checks the labels with people.
`audit/` finds out with people which misses of a run are not its own fault.
"""
