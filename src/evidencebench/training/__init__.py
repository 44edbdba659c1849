"""Train the models of systems. Training reads labels, so no system may import this folder.

In reading order:

* `trainings`: The table of trainings, and train()
* `finder`: Train a finder
* `verdicts`: Train the verdict whether a paper answers
* `fine_tuning`: Embedders and rerankers
* `prompt_examples`: Examples for prompts
* `crossval`: cross_validate(): figures, and the out-of-fold run
* `folds`: Folds of papers, their instances, and what a model's card says of them
* `crossval_splits`: The splits of a cross-validation: planned, answered, resumed
"""
