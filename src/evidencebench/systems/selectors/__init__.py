"""Systems that read a whole paper and choose sentences together.

In reading order: `lexicon` (wordings that are counted), `rhetorical_roles` (what sections and parts of an abstract are
about), `similarity` (of sentence pairs), `paper_columns` (what is computed once a paper), `features` (the table made
from it), `reordering` (without repetition); then the systems: `cues`, `diverse`, `selector` with its `selector_model`.
"""
