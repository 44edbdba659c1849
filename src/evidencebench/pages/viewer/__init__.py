"""The paper viewer of the app and the report: a paper with its evidence, and the sentences that each system selected.

Read `page_records` and `exchange_records` (the JSON for its scripts), `viewer_data`, `stored_exchanges` (prompts and
replies), `page_parts` (its scripts and styles, from assets/).
"""
