"""The exit codes of the command line, as its help tells them; 1 is done, but with something found."""

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_BUG, EXIT_INTERRUPTED = 0, 2, 3, 70, 130
