"""The pages for people who pick sentences, up to their submission: nothing here imports a module that knows labels.

Read `sessions` and `routes`.
"""
