"""The operator process, on kopf."""
