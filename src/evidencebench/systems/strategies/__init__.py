"""One strategy a file: how a language model is asked which sentences are the evidence."""
