"""The report: one HTML file with everything to know about runs on a data set.

Read `findings` (the runs, scored and ranked once), then the sections, one a file: `opening`, `leaderboard`, `curves`,
`breakdowns`, `pairs`, `hypotheses`, `failures`, `method`. They are built of `blocks`, and `page` puts them together.
"""
