"""Train the models of systems. Training reads labels, so no system may import this folder.

In reading order: `training_table` (the names of trainings), `lazy_instances`, `progress`, `folds`, `card_entries`;
`selector_table`, `selector_fitting` and `selector` (learned selectors, `best` among them), `finder_examples` and
`finder`; `listwise` (the examples of fine-tuning), `listwise_trainer`, `training_folder`, `fine_tuning`, `embedder`,
`reranker`; `prompt_examples`; then the folder `crossval`.
"""
