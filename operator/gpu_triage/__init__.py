"""gpu-triage says in one word why a pod that asks for GPUs is not running."""

__version__ = "0.1.0"
