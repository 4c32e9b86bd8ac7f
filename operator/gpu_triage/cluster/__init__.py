"""What we know now: the only mutable picture; no I/O."""
