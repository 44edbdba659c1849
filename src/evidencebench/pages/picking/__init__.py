"""The pages for people who pick sentences, until they submit. No file here imports a module that knows labels.

Read `routes`.
"""
