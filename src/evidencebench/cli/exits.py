"""The exit codes of the command line; 1: done, but something was found. The help lists the same codes."""

EXIT_OK, EXIT_BAD_INPUT, EXIT_STOPPED, EXIT_BUG, EXIT_INTERRUPTED = 0, 2, 3, 70, 130
