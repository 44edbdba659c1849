"""What the TREC tools read and write: topics, qrels by aspect, and runs, as files, dicts and data frames.

Read `document_names` (how a sentence is called there), `qrels` (labels out and in), `run_scores` (answers out),
`folder` (both as files) and `frames` (as PyTerrier has them).
"""
