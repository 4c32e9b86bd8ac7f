"""Random changes of a cluster whose nodes KWOK plays.

What is done is the seed's alone: which pods and nodes there are is remembered, not asked.
"""

from contextlib import contextmanager

from tests import builders
from tests.e2e import laboratory

NODES = 6
OWNERS = 2
"""Of pods, in each namespace."""
MOST_PODS = 40
BROKEN = 0.3
"""The part of the nodes that are cordoned, and of those that are reserved for others."""
PRODUCTS = ("A100", "H100")
TEAMS = ("soak-a", "soak-b")
POOL = {"soak": "true"}


@contextmanager
def churning(admin, chance):
    """Yield a Churn that is laid, and remove it afterwards."""
    churn = Churn(admin, chance)
    try:
        churn.lay()
        yield churn
    finally:
        churn.clear()


class Churn:
    """Some nodes, some pods, and one change after another."""

    def __init__(self, admin, chance):
        """Describe it.

        Args:
            admin: makes the changes.
            chance: a random.Random.
        """
        self._admin, self._chance = admin, chance
        self._pods = []
        self._gated = []
        self._nodes = {}
        self._owners = {}
        self._made = 0
        self.done = 0

    def lay(self):
        """Make the nodes and the first pods."""
        for team in TEAMS:
            self._admin.create("/api/v1/namespaces", {"metadata": {"name": team}})
            laboratory.wait_for(
                f"namespace {team} has its service account",
                lambda team=team: self._admin.get(
                    f"/api/v1/namespaces/{team}/serviceaccounts/default"
                ),
            )
            for number in range(OWNERS):
                # Whatever it is: the garbage collector wants it to be there.
                body = {"metadata": {"name": f"owner-{number}"}}
                made = self._admin.create(f"/api/v1/namespaces/{team}/configmaps", body)
                self._owners[team, number] = made["metadata"]["uid"]
        for _ in range(NODES):
            self._add_node()

    def step(self):
        """Make one change."""
        self.done += 1
        crowded = len(self._pods) >= MOST_PODS
        doings = {
            self._add_pod: 0 if crowded else 30,
            self._drop_pod: 40 if crowded else 14,
            self._finish: 6,
            self._lift: 3,
            self._cordon: 8,
            self._taint: 6,
            self._devices: 12,
            self._product: 4,
            self._node_goes: 2,
        }
        (do,) = self._chance.choices(list(doings), list(doings.values()))
        do()

    def clear(self):
        """Remove all of it."""
        for path in self._pods:
            self._admin.delete(path)
        for name in self._nodes:
            self._admin.delete(f"/api/v1/nodes/{name}")
        for team in TEAMS:
            self._admin.delete(f"/api/v1/namespaces/{team}")

    def _add_pod(self):
        self._made += 1
        team, name = self._chance.choice(TEAMS), f"job-{self._made:04}"
        raw = builders.pod(
            name,
            self._chance.choice((1, 1, 1, 2, 2, 4, 16)),
            selector={**POOL, **self._wish()},
            tolerations=[builders.GPU_TOLERATION] if self._chance.random() < 0.9 else [],
            **self._rest(),
        )
        raw["metadata"] = {"name": name, "ownerReferences": [self._owner(team)]}
        raw["spec"]["terminationGracePeriodSeconds"] = 0
        del raw["status"]
        path = f"/api/v1/namespaces/{team}/pods"
        self._admin.create(path, raw)
        self._pods.append(f"{path}/{name}")
        if "schedulingGates" in raw["spec"]:
            self._gated.append(f"{path}/{name}")

    def _wish(self):
        if self._chance.random() < 0.75:
            return {}
        return {"product": self._chance.choice((*PRODUCTS, "none"))}

    def _rest(self):
        which = self._chance.random()
        if which < 0.05:
            return {"schedulingGates": [{"name": "example.com/queue"}]}
        if which < 0.1:
            return {"schedulerName": "batch"}
        return {}

    def _drop_pod(self):
        if self._pods:
            path = self._pods.pop(self._chance.randrange(len(self._pods)))
            self._admin.delete(path)
            if path in self._gated:
                self._gated.remove(path)

    def _finish(self):
        """A pod ends by itself; one that waits is deleted."""
        if self._pods:
            path = self._pods.pop(self._chance.randrange(len(self._pods)))
            if path in self._gated:
                self._gated.remove(path)
            there = self._admin.get(path)
            if there is not None and there["spec"].get("nodeName"):
                self._admin.patch(f"{path}/status", {"status": {"phase": "Succeeded"}})
            else:
                self._admin.delete(path)

    def _lift(self):
        if self._gated:
            path = self._gated.pop()
            self._admin.patch(path, {"spec": {"schedulingGates": None}})

    def _cordon(self):
        name, node = self._node()
        node["cordoned"] = self._chance.random() < BROKEN
        self._admin.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": node["cordoned"]}})

    def _taint(self):
        name, node = self._node()
        node["tainted"] = self._chance.random() < BROKEN
        taints = [builders.GPU_TAINT]
        if node["tainted"]:
            taints.append({"key": "example.com/reserved", "value": "x", "effect": "NoSchedule"})
        self._admin.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": taints}})

    def _devices(self):
        """Devices break, a plugin goes, or all is well again."""
        name, _ = self._node()
        capacity, allocatable = self._chance.choice(((4, 4), (4, 4), (4, 3), (4, 0), (0, 0)))
        self._admin.patch(
            f"/api/v1/nodes/{name}/status",
            {
                "status": {
                    "capacity": {builders.GPU: str(capacity)},
                    "allocatable": {builders.GPU: str(allocatable)},
                }
            },
        )

    def _product(self):
        name, _ = self._node()
        product = self._chance.choice(PRODUCTS)
        self._admin.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": {"product": product}}})

    def _node_goes(self):
        """A node is deleted, and another comes; the pods that it had go with it in time."""
        name, _ = self._node()
        del self._nodes[name]
        self._admin.delete(f"/api/v1/nodes/{name}")
        self._add_node()

    def _node(self):
        name = self._chance.choice(sorted(self._nodes))
        return name, self._nodes[name]

    def _add_node(self):
        self._made += 1
        name = f"soak-{self._made:04}"
        labels = {**POOL, "product": self._chance.choice(PRODUCTS)}
        # How many it should have: whoever looks at the end only has not seen what it had before.
        annotations = {**laboratory.KWOK, "gpu-triage.io/expected-gpus": f"{builders.GPU}=4"}
        raw = builders.node(
            name, 4, labels=labels, taints=[builders.GPU_TAINT], annotations=annotations
        )
        for field in ("uid", "creationTimestamp"):
            del raw["metadata"][field]
        self._admin.create("/api/v1/nodes", raw)
        self._nodes[name] = {"cordoned": False, "tainted": False}

    def _owner(self, team):
        number = self._chance.randrange(OWNERS)
        return {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": f"owner-{number}",
            "uid": self._owners[team, number],
            "controller": True,
        }
