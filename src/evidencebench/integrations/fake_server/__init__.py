"""A language model server for trials and tests: its answers are known, and its faults are drawn from a seed.

It speaks the OpenAI and Anthropic protocols, chat and batches. It reads labels, so no system may import it.
"""
