"""Judged drafts become a data set: a folder with a file a split, a datasheet, a manifest and what was dropped.

Read `assemble` (the whole step), `settings` (what decides it, what is reported), `paper_texts` (papers, read once),
`same_text` (which papers are the same), `candidates` (what is held of a draft), `decontamination` (what other data sets
have already), `splits` (groups that stay together, and sizes close to the shares), `chosen_splits` (the splits of the
candidates, with warnings), `losses` (what every step dropped) and `datasheet` (models, prompts, settings, licences).
"""
