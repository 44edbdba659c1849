"""Answers on the disk: run files, answers of other tools, and what people picked."""
