"""What to try gpu-triage on: the lab, and the demo."""
