"""The steps that ask a language model: each adds to one draft, or drops it with a reason.

Read `model_step` (what a step is), `asking_objects` (a question and its answer), `checks` (of what a model wrote), then
the steps in their order: `summaries`, `hypotheses`, `aspects`, `judge` (with `votes`), `label_results`.
"""
