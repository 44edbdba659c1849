"""How well people agree with each other and with the model, with the certainty of each figure.

Read `marks` (who marked which sentence), `pair_measures` (kappa, F1 and others from counts) and `pair_statistic` (all
of them at once); `studentised` (intervals over papers); `comparison`
(people with each other against people with the model: difference, equivalence), `power` (how many papers are needed)
and `disagreements`; `mark_report` puts these together. `ratings` is the report where hypotheses or aspects were rated.
"""
