"""Answers and labels in, numbers with their certainty out.

Read `selection` (which sentences of an answer count), `measures` (what they are worth) and `evaluate` (every answer to
a data set, into `task_scores`); then `resampling` and `significance` (how sure a mean, a difference and a rank is), and
what uses them: `compare`, `wrong_hypothesis`, `leaderboard`. `score_runs` does all this for run files, beside the
`controls`, with `run_labels`, `signature` and `cautions`; `score_fields`, `score_texts` and `kind_breakdown` say it to
programs and people. `published_results` are others' figures.
"""
