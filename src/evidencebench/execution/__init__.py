"""Make systems, ask them over a data set, and write their answers to run files.

Read `system_table` (the names), `plugins` (those of installed packages), `options` and `own_code`, then `making` (a
system from its specification), `answering` (one instance for one task), `query_controls` and `changes` (what is asked
in place of the data's own queries) and `asking` (many instances). `execute` writes the answers to a run file.
`exchanges` shows prompts and replies again; `fitting` checks that a run belongs to the data and the tasks. `finding`
asks a system about a paper of the user's own; `rewriting` has a model write other hypotheses.
"""
