"""The report: one HTML file that shows the scores of runs on a data set, with intervals, tests and papers.

Read `findings` (the runs, scored and ranked once), then the sections, each in a file: `opening`, `forest`,
`leaderboard`, `pairs`, `hypotheses` with `hypothesis_use`, `picks`, `curves`, `breakdowns`, `failures`, `method`.
`blocks` has the elements of all sections, `papers` the papers; `page` puts them together. `unlabelled` is the report
where there is nothing to score.
"""
