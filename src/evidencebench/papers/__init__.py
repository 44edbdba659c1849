"""Papers from elsewhere, read into sentences with their kinds.

Read `paper` (what is read), then `read` (the table of readers, one file each), `plain` (text, one sentence a line) and
`refusal` (what a file is that no reader takes).
"""
