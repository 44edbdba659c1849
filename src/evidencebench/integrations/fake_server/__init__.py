"""A language model server for trials: it knows the right answers, fails by a seed, and costs nothing.

It speaks OpenAI's chat completions. It reads labels, so no system may import it. In reading order: `answers`,
`server`. The server of the tests extends it with another protocol, batches and more ways to answer and fail.
"""
