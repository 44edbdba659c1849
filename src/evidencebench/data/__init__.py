"""Queries with their labels: the data set, its formats, its rules and its optima."""
