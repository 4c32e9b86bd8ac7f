"""A cluster with a real node: kubelet, containerd and kube-proxy beside the control plane.

Pods really run here, from images that are built on this machine, and GPUs come from a device plugin
that speaks the kubelet's protocol. Everything lives in Linux namespaces of its own, needs root, and
ends with the process that started it.
"""

from __future__ import annotations

from .cluster import NODE, NodeCluster
from .machine import why_not

__all__ = ["NODE", "NodeCluster", "why_not"]
