"""Systems that read a whole paper and choose sentences that do not repeat each other.

In reading order: `lexicon` (wordings that are counted), `rhetorical_roles` (what sections and parts of an abstract are
about), `similarity` (of sentence pairs), `hypothesis_parts`, `relevance` (of sentences to these parts), `paper_columns`
(computed once a paper), `features` and `relevance_features` (tables of these columns), `reordering` (orders without
repetition), `articles` (several in one query), `trees`; then the systems: `cues`, `diverse`, `finder` with
`finder_model`. The folder `shipped_finder` holds the model that comes with the package.
"""
