"""The systems: each gets a query and a brief, and returns a ranking; no system sees a label.

Read `topic_words` (what a hypothesis is about) and `controls` (systems to beat), then the folders `retrievers` (they
rank sentences), `selectors` (they choose sentences together), `strategies` (they ask a language model), `programs`
(programs of users, in any language) and `directions` (what a found sentence reports). Then read `stored_answers` (a
system that answers from a run file), `derangement` (each query gets another paper's hypothesis, or another paper) and
`changed_queries` (two papers in one query, and other queries changed on purpose).
"""
