"""The names and values that random clusters are made of: few, so that they meet each other."""

from gpu_triage.core.rules import Rules

GPU, SHARED, SMALL_MIG, LARGE_MIG, OTHER_VENDOR = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.5gb",
    "nvidia.com/mig-3g.20gb",
    "amd.com/gpu",
)
RESOURCES = (GPU, SHARED, SMALL_MIG, LARGE_MIG, OTHER_VENDOR)
NETWORK = "rdma/hca"
"""An extended resource that is no GPU: it stops pods beside our steps."""
PROFILES = ("default-scheduler", "gpu-scheduler")
"""Profiles of the one kube-scheduler that answers."""
OTHER_SCHEDULER = "volcano"
"""Nobody of this name runs: its pods wait for ever."""
RULES = Rules(resources=(*Rules().resources, OTHER_VENDOR), kube_schedulers=PROFILES)

DOMAIN = "agreement.gpu-triage.io"
GROUP = f"{DOMAIN}/group"
"""Label of every node: the small cluster that it belongs to."""
ROLE = f"{DOMAIN}/role"
"""Label of every pod: standing (part of a cluster) or asking (waits for an answer)."""
NOBODY = f"{DOMAIN}/nobody"
"""Label that no pod has: affinity to it keeps a pod that fits from being bound."""
FINALIZER = f"{DOMAIN}/stays"

NAMESPACES = ("default", "team-a", "team-b")
PRIORITIES = (None, 0, 0, 10, 10, -5, 1000)

LABELS = {
    "pool": ("a100", "h100", ""),
    "nvidia.com/gpu.product": ("NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB-SHARED"),
    "zone": ("a", "b"),
    "count": ("4", "8", "08", "16", "lots", "9223372036854775807", "9223372036854775808"),
}
BOUNDS = ("4", "7", "8", "008", "16", "lots", "9223372036854775806", "9223372036854775808")
"""What Gt and Lt compare with: the API server stores them all, the scheduler cannot read two."""

TAINT_KEYS = (
    GPU,
    "team",
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unschedulable",
    "size",
)
TAINT_VALUES = ("", "present", "true", "8", "08", "9")
TAINT_NUMBERS = ("7", "8", "9", "9223372036854775807")
"""What tolerations with Gt and Lt compare with; the API server refuses others."""
EFFECTS = ("NoSchedule", "NoExecute", "PreferNoSchedule")
