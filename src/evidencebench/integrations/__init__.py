"""Servers and adapters for the interfaces of other tools: a folder for each tool.

In reading order:

* `frames`: Data frames
* `trec`: TREC: topics, qrels, runs, frames
* `hugging_face`: folders of data for Hugging Face
* `inspect_ai`: Tasks, scorer, models of inspect_ai
* `mteb`: Tasks of mteb
* `mcp`: A server for assistants: papers of folders, the evidence in them
* `plugin_template`: `systems new`
* `fake_model`: A language model for trials: right answers from labels, a few faults
* `fake_server`: Its server: OpenAI's chat completions, and what was paid
"""
