"""The command line: each command parses its arguments, calls one function and prints what comes back.

First read what commands share: `main` (the entry point, groups of commands, how a command ends), `options` (how
options are declared, and those that several commands have), `configuration` (settings that they share), `output`
(tables, JSON, progress), `asking` (options for language models, estimates), `scoring_options` (with pictures). Then
each command is a function of its name in a file of its name: `score`, `compare`, `leaderboard`, `controls`,
`training` (``train``, ``crossval``), `run`, `find`, `mcp`, `view`, `review`, `report`, `demo`, `settings`. A group of
commands is a file, `papers`, `export`, `cache`, `systems` (with ``tasks``), `audit`, or where some of them are slow to
import, a folder: `data`, `llm`, `construct`.
"""
