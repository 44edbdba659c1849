"""Evidence Inference 2.0, read from its published folder: a question about a trial becomes an instance.

Read `records` (prompts and annotations), `folder` (where its files lie), `plain_text` (its own texts of the papers),
`searching` (where a marked text stands in a paper), `placement` (each annotation's sentences, or why it has none) and
`convert` (the instances, and what was left out).
"""
