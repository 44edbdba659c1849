"""The command line: each command parses its arguments, calls one function and prints what comes back.

Read `main` (the entry point), `groups` and `ending`; then what commands share: `options`, `work_place` (where work
runs), `scoring_options`, `asking` (how language models are asked), `output`, `streams`, `standard_input`, `progress`,
`plotting`, `comparison_tables`, `exchange` and `listening`; then the commands, one a file: `demo`, `tasks`, `run`,
`score`, `leaderboard`, `compare`, `table`, `controls`, `train`, `crossval`, `report` and `view`; last the folders of
commands: `systems`, `data`, `papers`, `llm`, `cache`, `find` (one command, and what it is given), `construct`,
`agreement`, `audit` and `export`.
"""
