"""The command line, on the same classifier as the operator."""
