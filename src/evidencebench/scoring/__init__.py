"""Scores of answers, measured against the labels, with intervals and tests.

Read `selection` (the sentences of an answer that count), `measures` (the value of a selection) and `evaluate` (scores
every answer to a data set; returns `task_scores`); `recall_by_budget` has the points of curves. Then `resampling`
(intervals), `proportions` (intervals of shares), `significance` (tests and ranks), and their users: `compare`,
`control_results` and `query_controls`, `leaderboard`, `systems_table`. `score_runs` scores run files beside the
`controls`, on an engine by `score_blocks`, with `run_labels`, `signature` and `cautions`. `score_fields` writes
scores as JSON, `score_texts` as text, `instance_scores` a row an instance; `kind_breakdown` splits them by kind of
sentence, `place_breakdown` by where the evidence lies, `picks` by what each sentence adds; `published_results` has
published figures.
"""
