"""The command line: parse arguments, call one function, print. One command a file."""
