"""Papers and reviews become a data set, step by step.

Read `draft` (what the steps hand on) and `draft_file` (how it lies on the disk).
`harvest/` finds passages of reviews that speak of one paper.
`steps/` asks a model, with `prompts/` and the `paper_files`; `running` runs one step over a file.
`people/` checks the labels with people.
"""
