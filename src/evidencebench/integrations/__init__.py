"""Servers and adapters for the interfaces of other tools: a folder for each tool.

`fake_server` is a language model server for trials; `plugin_template` has the files of a new package with a system.
`frames` makes data frames of data and scores. `known_data` says which published data set a file is. `hugging_face`
writes data for `datasets` and Croissant, `trec` has files, dicts and frames of the TREC tools, `mteb` its task objects,
`inspect_ai` tasks, scores, models and logs of that tool, and `score_records` the scores of runs for public collections.
"""
