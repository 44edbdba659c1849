"""The systems: each gets a query and a brief, and returns a ranking; no system sees a label.

Read `controls` (systems to beat), then the folders `retrievers` (they rank sentences), `selectors` (they choose
sentences together) and `strategies` (they ask a language model). Then read `stored_answers` (a system that answers from
a run file) and `derangement` (each paper gets another paper's hypothesis).
"""
