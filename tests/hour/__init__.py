"""An hour of a cluster in seconds: the operator's own parts, an API server that is pretended.

`python -m tests.hour` tells, in order, what people saw.
"""
