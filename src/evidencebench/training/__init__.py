"""Train the models of systems. Training reads labels, so no system may import this folder.

In reading order: `training_table` (the names of trainings), `lazy_instances`, `progress`, `folds`, `card_entries`;
`finder_examples` and `finder`; `fine_tuning` (embedders and rerankers); `prompt_examples`; then the folder `crossval`.
"""
