"""What is computed elsewhere: language models and embedding models."""
