"""Servers and adapters for the interfaces of other tools: a folder for each tool.

`fake_server` is a language model server for trials; `plugin_template` has the files of a new package with a system.
`frames` makes data frames of data and scores.
`trec` holds files, dicts and frames of the TREC tools; `inspect_ai` tasks, scores, models and logs of that tool.
"""
