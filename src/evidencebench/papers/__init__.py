"""Users' own papers, read into sentences with their kinds.

Read `paper` (the result), then `read` (the table of readers, one file each), `plain` (text, one sentence a line) and
`refusal` (errors for files that are no plain text).
"""
