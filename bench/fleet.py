"""Which nodes and pods the stand-in API server has, as little of each as will do."""

from tests import builders

from bench import objects
from bench.objects import FLIPPED, GPU_NODES, PER_NODE, filled

NAMESPACES, POOLS = 300, 20
GPU_SHARE, WAITING_SHARE = 0.08, 0.02
AMOUNTS = (1, 2, 4, 8, 16)
"""With the pools: 100 shapes. Nobody has 16."""
HANGING = 100
"""Waiting pods that hang on the node that is flipped."""


class Fleet:
    """Nodes and pods by number; each has a version and, perhaps, annotations of the operator's."""

    def __init__(
        self, pods: int, nodes: int, *, waiting: bool = True, hanging: int = HANGING
    ) -> None:
        """Make them.

        Args:
            pods: how many; of them 8 % want GPUs and 2 % wait for them.
            nodes: how many; a quarter has 8 GPUs.
            waiting: whether any waits; if not, those hold a GPU too.
            hanging: how many of those that wait hang on the one node that is flipped.
        """
        self.version = 1
        self.nodes, self.pods = nodes, pods
        self.gpus = int(pods * GPU_SHARE)
        self.waiting = int(pods * WAITING_SHARE) if waiting else 0
        self.hanging = min(hanging, self.waiting)
        self.cordoned = False
        self.done: set[int] = set()
        """Pods that held GPUs and have ended."""
        self.marks: dict[int, bytes] = {}
        self._versions = {"pods": [1] * pods, "nodes": [1] * nodes}
        self._on: dict[str, list[int]] | None = None
        self._plain = objects.pod_template(0)
        self._holds, self._held = (
            objects.pod_template(1, tolerations=[builders.GPU_TOLERATION], phase=phase)
            for phase in ("Running", "Succeeded")
        )
        self._waits = [
            objects.pod_template(amount, waits=True, selector={"pool": f"pool-{pool}"})
            for pool in range(POOLS)
            for amount in AMOUNTS
        ]
        self._hangs = objects.pod_template(16, waits=True, selector={"pool": FLIPPED})
        self._cpu_node = objects.node_template(0)
        self._gpu_node = objects.node_template(PER_NODE)
        self._flipped = [
            objects.node_template(PER_NODE, pool=FLIPPED, unschedulable=each)
            for each in (False, True)
        ]

    def count(self, kind: str) -> int:
        """How many there are of a kind."""
        return {"pods": self.pods, "nodes": self.nodes, "namespaces": 0}[kind]

    def touch(self, kind: str, number: int) -> None:
        """Gives an object a new version."""
        self.version += 1
        self._versions[kind][number] = self.version

    def node_of(self, number: int) -> str:
        """Where a pod is; empty where it waits."""
        if number < self.waiting:
            return ""
        if number < self.gpus:
            each = (number - self.waiting) // PER_NODE + 1
            return f"node-{(each * GPU_NODES) % self.nodes:05}"
        return f"node-{number % self.nodes:05}"

    def pods_on(self, node: str) -> list[int]:
        """The pods on a node; those that wait where it is empty."""
        if self._on is None:
            self._on = {}
            for number in range(self.pods):
                self._on.setdefault(self.node_of(number), []).append(number)
        return self._on.get(node, [])

    def pod_number(self, name: str) -> int:
        """The pod of a name. Raises ValueError."""
        return int(name.removeprefix("job-"))

    def render(self, kind: str, number: int) -> bytes:
        """An object's JSON, without kind and apiVersion, as in lists."""
        version = str(self._versions[kind][number]).encode()
        if kind == "nodes":
            return filled(
                self._node(number),
                {
                    b"NAME": b"node-%05d" % number,
                    b"UID": b"%08x-0000-4000-8000-00000000000a" % number,
                    b"VERSION": version,
                    b"POOL": b"pool-%d" % (number % POOLS),
                },
            )
        name = b"job-%06d" % number
        marks = self.marks.get(number)
        return filled(
            self._pod(number),
            {
                b"NAME": name,
                b"NAMESPACE": b"team-%03d" % (number % NAMESPACES),
                b"UID": b"%08x-0000-4000-8000-00000000000b" % number,
                b"VERSION": version,
                b"NODE": self.node_of(number).encode(),
                # Every change is one that the operator reads: none can be dropped as a repetition.
                b"CHANGED": b"2026-01-10T10:%02d:%02dZ" % divmod(int(version) % 3600, 60),
                b"MARKS": b'example.com/none":"","example.com/more' if marks is None else marks,
            },
        )

    def line(self, kind: str, number: int) -> bytes:
        """A watch event that says that an object has changed."""
        what = b"Pod" if kind == "pods" else b"Node"
        head = b'{"type":"MODIFIED","object":{"kind":"%b","apiVersion":"v1",' % what
        return head + self.render(kind, number)[1:] + b"}\n"

    def _pod(self, number: int) -> objects.Template:
        if number < self.hanging:
            return self._hangs
        if number < self.waiting:
            return self._waits[number % len(self._waits)]
        if number < self.gpus:
            return self._held if number in self.done else self._holds
        return self._plain

    def _node(self, number: int) -> objects.Template:
        if number == 0:
            return self._flipped[self.cordoned]
        return self._gpu_node if number % GPU_NODES == 0 else self._cpu_node
