"""What counts as a GPU: the settings that the classifier takes, with their defaults.

Patterns are globs over whole names (``nvidia.com/mig-*``), case-sensitive.
"""

import fnmatch
import re
from functools import lru_cache

import msgspec

DOMAIN = "gpu-triage.io"


class Rules(msgspec.Struct, frozen=True):
    """Settings of the classifier; the same for the operator and the CLI."""

    resources: tuple[str, ...] = ("nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-*")
    """Extended resource names that are GPUs."""
    node_labels: tuple[str, ...] = (
        "nvidia.com/gpu.*",
        "feature.node.kubernetes.io/pci-10de*",
        "cloud.google.com/gke-accelerator",
        "karpenter.k8s.aws/instance-gpu-*",
    )
    """Label keys by which a node is known to have GPUs, whether or not it offers them."""
    startup_taints: tuple[str, ...] = (
        "node.cloudprovider.kubernetes.io/uninitialized",
        "karpenter.sh/unregistered",
        "node.cilium.io/agent-not-ready",
        "ebs.csi.aws.com/agent-not-ready",
        "efs.csi.aws.com/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/*",
        "ignore-taint.cluster-autoscaler.kubernetes.io/*",
    )
    """Taint keys that a node carries while it starts."""
    kube_schedulers: tuple[str, ...] = ("default-scheduler",)
    """Scheduler names that are profiles of one kube-scheduler."""
    open_taints: tuple[str, ...] = ()
    """Taint keys, besides the GPUs' own, that a user may be advised to tolerate."""
    autoscaling: bool = False
    """Whether nodes that are not there now can be made when a pod asks for them."""
    domain: str = DOMAIN
    """Prefix of the annotation keys."""
    old_domains: tuple[str, ...] = ()
    """Former prefixes of the annotation keys: what stands under them is to go."""
    name_holders: str = "own"
    """Which holders of GPUs a message names: ``own``, those of the waiting pod's namespace;
    ``all``; ``none``. The others are counted."""
    node_starting_seconds: float = 900
    """How long a young node counts as starting, and a pod is told to wait for such nodes."""
    scaling_up_seconds: float = 900
    """How long a pod is told to wait for the node that an autoscaler is to make."""

    def is_gpu(self, resource: str) -> bool:
        """Whether a resource name is a GPU's."""
        return _matches(self.resources, resource)

    def is_gpu_label(self, key: str) -> bool:
        """Whether a node's label key tells of GPUs."""
        return _matches(self.node_labels, key)

    def gpu_labels(self, keys: tuple[str, ...]) -> tuple[str, ...]:
        """Those of some label keys that tell of GPUs. Nodes have the same keys again and again."""
        return _matching(self.node_labels, keys)

    def is_startup_taint(self, key: str) -> bool:
        """Whether a taint key is one of those that a starting node carries."""
        return _matches(self.startup_taints, key)

    def may_tolerate(self, key: str) -> bool:
        """Whether a pod that wants GPUs may be advised to tolerate a taint of this key."""
        return self.is_gpu(key) or _matches(self.open_taints, key)

    def same_scheduler(self, one: str, other: str) -> bool:
        """Whether two scheduler names belong to one scheduler, which honours its nominations."""
        return one == other or (one in self.kube_schedulers and other in self.kube_schedulers)


@lru_cache(maxsize=16)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns) or r"(?!)")


@lru_cache(maxsize=1024)
def _matching(patterns: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if _matches(patterns, name))


@lru_cache(maxsize=65536)
def _matches(patterns: tuple[str, ...], name: str) -> bool:
    return _compiled(patterns).match(name) is not None
