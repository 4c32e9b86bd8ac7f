"""The operator on a real control plane while everything changes and much of it fails.

`make soak` runs it for half an hour; tests/e2e/test_soak.py for three minutes.
"""
