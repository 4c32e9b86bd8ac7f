"""Does our classifier say of every node what a real kube-scheduler says?

`python -m tests.agreement` lays random clusters into a real API server, asks the scheduler about
each pod and node, and compares its answers with the codes that the classifier gives.
"""
