"""What the operator shows, as a real Prometheus, its promtool and a real Alertmanager take it."""
