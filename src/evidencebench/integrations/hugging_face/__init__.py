"""Data sets for Hugging Face `datasets`: in Python, or as a folder that its ``load_dataset`` opens.

Read `to_hf` (a data set in Python), `licences` (what each allows), `folder` (sharded Parquet), `written_split`
(what is said of it), `card` (README.md) and `croissant` (croissant.json).
"""
