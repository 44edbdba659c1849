"""Systems in any language: a program that reads a query as a line of JSON and writes its answer as another.

Read `messages` (the lines), `program` (a program that answers lines, with time limits) and `command` (the system).
"""
