"""Scores of runs in the forms of public collections of results.

Read `scored_task` (what both forms say of a score), `every_eval_ever` (records of Every Eval Ever) and `hub_results`
(``.eval_results`` files of Hugging Face).
"""
