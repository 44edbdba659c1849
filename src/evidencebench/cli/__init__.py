"""The command line: each command parses its arguments, calls one function and prints what comes back.

First read what commands share: `main` (the entry point, groups of commands, how a command ends), `options` (how options
are declared, and those that several commands have), `output` (tables, JSON, progress), `asking` (options for language
models, estimates), `scoring_options`, `plots` (pictures) and `exchange` (a prompt and its reply). Then each command is
a file of its name: `score`, `compare`, `leaderboard`, `table`, `controls`, `crossval`, `run`, `train`, `find`, `view`,
`report`, `demo`, `tasks`. Groups of commands are folders: `papers`, `data`, `export`, `llm`, `cache`, `systems`,
`construct`, `agreement`, `audit`.
"""
