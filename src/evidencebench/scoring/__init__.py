"""Scores of answers, measured against the labels, with intervals and tests.

In reading order:

* `selection`: select(): the sentences that count
* `measures`: Measures
* `task_scores`: TaskScores, Counts
* `oddities`: What is odd in scored answers, as warnings
* `evaluate`: evaluate(), grade()
* `score_runs`: score_runs(): run files, labels, their partners with changed queries
* `controls`: Controls beside runs; query controls measured
* `resampling`: Bootstrap over papers, Clopper-Pearson
* `significance`: Sign flips, Holm, ranges of ranks
* `compare`: compare(); use of the hypothesis
* `leaderboard`: leaderboard(), table(): rows as data
* `breakdowns`: By place, kind, budget; what each pick adds
* `output`: Scores as text, JSON, files; signatures; published figures
"""
