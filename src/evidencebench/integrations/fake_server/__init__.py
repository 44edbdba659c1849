"""A language model server for trials: it knows the right answers, fails by a seed, and costs nothing.

It speaks the APIs of OpenAI and Anthropic, chat and batches. It reads labels, so no system may import it.
In reading order: `settings`; how the model answers: `prompt_content`, `known_papers`, `construction_gold`, `calls`,
`request_log`, `model`; the providers' formats: `openai_api`, `anthropic_api`; their batches: `batches`,
`openai_batches`, `anthropic_batches`; the server: `client`, `app`, `serving`.
"""
