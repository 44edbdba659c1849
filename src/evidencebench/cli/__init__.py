"""The command line: each command parses its arguments, calls one function and prints what comes back.

In reading order:

* `main`: Entry point, lazy groups, how a command ends, standard streams
* `options`: Options that commands share
* `asking`: Options of models; estimate
* `output`: print_table, print_json, signatures; progress
* `plots`: --plot
* `score`: score
* `compare`: compare, and the tables of pairs
* `controls`: controls
* `crossval`: crossval
* `run`: run
* `train`: train
* `find`: find
* `leaderboard`: leaderboard
* `table`: table
* `view`: view
* `report`: report
* `demo`: demo
* `scoring_options`: Options of commands that score
* `tasks`: tasks
* `exchange`: What a prompt and its reply look like
* `papers`: cli/papers/__init__
* `data`: cli/data/__init__
* `export`: cli/export/__init__
* `llm`: cli/llm/__init__
* `cache`: cli/cache/__init__
* `systems`: cli/systems/__init__
* `construct`: cli/construct/__init__
* `agreement`: cli/agreement/__init__
* `audit`: cli/audit/__init__
"""
