"""A real control plane for demo, tests and CI, without a container engine.

`open_cluster` gives the cluster that the environment asks for; by default that is etcd, API server,
scheduler, controller manager and KWOK, built from their Go modules and started on this machine.
"""

from __future__ import annotations

from .cluster import Cluster
from .components import Mode
from .control_plane import ControlPlane
from .processes import ControlPlaneError, Process
from .providers import open_cluster

__all__ = ["Cluster", "ControlPlane", "ControlPlaneError", "Mode", "Process", "open_cluster"]
