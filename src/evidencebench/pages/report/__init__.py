"""The report: one HTML file with everything to know about runs on a data set."""
