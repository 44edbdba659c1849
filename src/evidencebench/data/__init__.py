"""Queries with their labels: the data set, its formats, its rules and its optima.

Read `instance` (a query with its labels), `dataset` (many of them, from `formats/`), `tasks`, `optimum/` and `optima`
(the exact answers, for an instance and for a file), `oracle`, `validation/`, `statistics`, `catalog`, `download` with
`part_file`, and `sample/`. `hypotheses` reads files of other hypotheses for the same papers, and `evidence_inference/`
makes a data set of human judgments.
"""
