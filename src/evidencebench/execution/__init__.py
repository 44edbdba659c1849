"""Ask a system over a data set: names and options, questions, records, resumption."""
