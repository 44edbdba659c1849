"""Queries with their labels: the data set, its formats, its rules and its optima.

Read `instance` (a query with its labels), `dataset` (many of them, from `formats/`), `tasks`, `optimum/`
and `optima` (the exact answers), `oracle`, `solve_file`, `validation/`, `statistics`, `catalog`, `download` with
`part_file`, and `sample/`.
"""
