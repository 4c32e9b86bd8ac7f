"""What it costs, by command."""
