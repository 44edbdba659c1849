"""Train systems on labels: no system imports this room, which reads labels on purpose.

In reading order: `training_table` (what can be trained), `folds`, `selector_examples` and `selector` (learned
selectors, `best` among them); `listwise` (what fine-tuning learns from), `listwise_trainer`, `training_folder`,
`fine_tuning`, `embedder`, `reranker`; `prompt_examples`; then the folder `crossval`.
"""
