"""Systems that read a whole paper and choose sentences that do not repeat each other.

In reading order: `lexicon` (wordings that are counted), `rhetorical_roles` (what sections and parts of an abstract are
about), `similarity` (of sentence pairs), `paper_columns` (computed once a paper), `features` (a table of these
columns), `reordering` (orders without repetition); then the systems: `cues`, `diverse`, `selector`, `selector_model`.
"""
