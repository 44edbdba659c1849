"""The report: one HTML file that shows the scores of runs on a data set, with intervals, tests and papers.

In reading order:

* `page`: report(): the page
* `data`: Scored once for all sections
* `blocks`: Tables, notes, folded parts
* `scores`: Leaderboards, forest, pairs
* `hypotheses`: Query controls
* `curves`: Recall by budget
* `breakdowns`: By properties; what picks add
* `failures`: Failures and costs
* `method`: Method and signatures
"""
