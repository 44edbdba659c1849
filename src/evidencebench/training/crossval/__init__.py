"""Cross-validation: train on some papers, answer the others, and say what of the score is the hypothesis's."""
