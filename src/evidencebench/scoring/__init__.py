"""Answers and labels in, numbers with their certainty out."""
