"""One experiment, from systems to the tables of a paper.

`result_table` has what every question is answered with: tables in all forms. `boards` answers which system is best,
`pairs` by how much two differ and whether they read the hypothesis. `experiment` runs, scores and asks those two.
"""
