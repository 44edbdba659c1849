"""Language models and embedding models, on a server or on this machine.

Read `http` (requests, addresses, keys), `model_card` (what a trained model was made from), then `llm` or `embedding`.
"""
