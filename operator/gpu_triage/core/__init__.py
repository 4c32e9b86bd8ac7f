"""The rules: values in, verdict out. Pure."""
