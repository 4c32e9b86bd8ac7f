"""An hour at a busy cluster: the demo's lab, six GPU nodes, three teams, and all that happens."""

import asyncio
import copy
import random

import yaml

from tests import builders
from tests.e2e.laboratory import MANIFESTS

READY = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
NOT_READY = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
NOT_READY_TAINTS = [
    {"key": "node.kubernetes.io/unreachable", "effect": effect}
    for effect in ("NoSchedule", "NoExecute")
]
LABELS = {"nvidia.com/gpu.present": "true", "nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}
TEAMS = ("vision", "speech", "search")
POOL = {"pool": "train"}
WANTED = {"selector": POOL, "tolerations": [builders.GPU_TOLERATION]}


class Story:
    """What happens; all chance is the seed's."""

    def __init__(self, stage, seed):
        self._stage = stage
        self._random = random.Random(seed)
        self._jobs = 0

    async def tell(self, minutes):
        """Let so many minutes pass."""
        self._lay()
        parts = [
            asyncio.create_task(each)
            for each in (
                self._arrivals(),
                self._typos(),
                self._batch(8),
                self._maintenance(14),
                self._plugin_dies(20),
                self._loses_one_gpu(25),
                self._reboot(28),
                self._restart(33),
                self._new_node(36),
                self._flapping(44),
                self._mig(48),
                self._rollout(52),
            )
        ]
        await self._stage.at(minutes)
        for part in parts:
            part.cancel()
        for ended in await asyncio.gather(*parts, return_exceptions=True):
            if isinstance(ended, Exception):
                raise ended

    def _lay(self):
        for raw in yaml.safe_load_all(MANIFESTS.read_text()):
            self._lay_one(raw)
        for number in range(6):
            self._stage.add_node(
                f"gpu-{number}", 8, labels={**LABELS, **POOL}, taints=[builders.GPU_TAINT]
            )
        for number in range(4):
            self._stage.add_node(f"cpu-{number}", None)

    def _lay_one(self, raw):
        metadata = raw["metadata"]
        if raw["kind"] == "Node":
            raw["metadata"] |= {
                "uid": f"uid-{metadata['name']}",
                "creationTimestamp": "2026-01-10T08:00:00Z",
            }
            raw.setdefault("spec", {})
            raw["status"]["conditions"] = [READY]
            self._stage.api.put(raw)
        elif raw["kind"] == "Pod":
            spec = raw["spec"]
            amount = spec["containers"][0].get("resources", {}).get("limits", {})
            self._stage.add_pod(
                metadata["name"],
                amount.get(builders.GPU, 0),
                namespace="gpu-triage",
                selector=spec.get("nodeSelector"),
                tolerations=spec.get("tolerations", ()),
            )

    async def _arrivals(self):
        """Training jobs of all sizes, more than there is room for."""
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 25))
            gpus = self._random.choice([1, 1, 2, 2, 4, 8])
            self._job(gpus, lasts=self._random.uniform(60, 900))

    async def _typos(self):
        """People who ask for what is not there."""
        while True:
            await asyncio.sleep(self._random.expovariate(1 / 240))
            kind = self._random.choice(["product", "toleration", "size", "cpu"])
            name = self._name(kind)
            team = self._random.choice(TEAMS)
            match kind:
                case "product":
                    wanted = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}
                    pod = self._stage.add_pod(
                        name, 1, namespace=team, **{**WANTED, "selector": wanted}
                    )
                case "toleration":
                    pod = self._stage.add_pod(name, 1, namespace=team, selector=POOL)
                case "size":
                    pod = self._stage.add_pod(name, 16, namespace=team, **WANTED)
                case _:
                    pod = self._with_cpu(name, team)
            # Somebody looks after five minutes, and makes it anew.
            asyncio.get_running_loop().call_later(300, self._stage.api.drop, pod)

    def _with_cpu(self, name, team):
        containers = [
            {
                "name": "main",
                "image": "example/app:1",
                "resources": {"requests": {builders.GPU: "1", "cpu": "64"}},
            }
        ]
        return self._stage.add_pod(name, 0, namespace=team, containers=containers, **WANTED)

    async def _batch(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("a Job of 60 pods with 1 GPU each is made")
        for number in range(60):
            self._stage.add_pod(
                f"sweep-{number:02}",
                1,
                namespace="search",
                owner="Job/sweep",
                lasts=self._random.uniform(100, 300),
                **WANTED,
            )

    async def _maintenance(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("gpu-0 is cordoned and drained")
        self._change("gpu-0", lambda node: node["spec"].update(unschedulable=True))
        self._drain("gpu-0")
        await self._stage.at(minute + 8)
        self._stage.diary.note("gpu-0 is uncordoned")
        self._change("gpu-0", lambda node: node["spec"].pop("unschedulable"))

    async def _plugin_dies(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("the device plugin of gpu-1 crashes and comes back, four times")
        for _ in range(4):
            self._offer("gpu-1", 0)
            await asyncio.sleep(self._random.uniform(5, 25))
            self._offer("gpu-1", 8)
            await asyncio.sleep(self._random.uniform(10, 40))

    async def _loses_one_gpu(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("gpu-2 loses one GPU for six minutes")
        self._offer("gpu-2", 7)
        await self._stage.at(minute + 6)
        self._offer("gpu-2", 8)

    async def _reboot(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("gpu-3 reboots: not ready for 100 s, its GPUs 40 s later")
        self._ready("gpu-3", False)
        self._drain("gpu-3")
        await asyncio.sleep(100)
        self._offer("gpu-3", 0)
        self._ready("gpu-3", True)
        await asyncio.sleep(40)
        self._offer("gpu-3", 8)

    async def _restart(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("the operator is killed; its next life begins 4 s later")
        await self._stage.kill()
        await asyncio.sleep(4)
        self._stage.start()

    async def _new_node(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note(
            "an autoscaler makes gpu-6: not ready, ready, labels, GPUs; and deletes it"
        )
        node = self._stage.add_node(
            "gpu-6",
            None,
            old=False,
            taints=[builders.GPU_TAINT, *NOT_READY_TAINTS],
            labels=dict(POOL),
        )
        await asyncio.sleep(35)
        self._change("gpu-6", lambda node: node["spec"].update(taints=[builders.GPU_TAINT]))
        await asyncio.sleep(25)
        self._change("gpu-6", lambda node: node["metadata"]["labels"].update(LABELS))
        await asyncio.sleep(45)
        self._offer("gpu-6", 8)
        await self._stage.at(minute + 14)
        self._drain("gpu-6")
        self._stage.api.drop(node)

    async def _flapping(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("gpu-4 flaps between ready and not ready every 5 s for two minutes")
        for _ in range(12):
            self._ready("gpu-4", False)
            await asyncio.sleep(5)
            self._ready("gpu-4", True)
            await asyncio.sleep(5)

    async def _mig(self, minute):
        await self._stage.at(minute)
        self._stage.diary.note("gpu-5 is cut into MIG slices, and back after five minutes")
        self._drain("gpu-5")

        def cut(node):
            node["metadata"]["labels"]["nvidia.com/mig.config"] = "all-1g.10gb"
            for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
                amounts |= {builders.GPU: "0", "nvidia.com/mig-1g.10gb": "56"}

        def whole(node):
            node["metadata"]["labels"]["nvidia.com/mig.config"] = "all-disabled"
            for amounts in (node["status"]["capacity"], node["status"]["allocatable"]):
                amounts |= {builders.GPU: "8", "nvidia.com/mig-1g.10gb": "0"}

        self._change("gpu-5", cut)
        await self._stage.at(minute + 5)
        self._change("gpu-5", whole)

    async def _rollout(self, minute):
        """Each new pod waits for an old one to go."""
        await self._stage.at(minute)
        self._stage.diary.note("a Deployment of four pods with 2 GPUs each rolls over")
        for number in range(4):
            self._stage.add_pod(
                f"serve-{number}", 2, namespace="speech", owner="ReplicaSet/serve-7d4", **WANTED
            )
            await asyncio.sleep(20)

    def _job(self, gpus, lasts):
        name = self._name("train")
        self._stage.add_pod(
            name,
            gpus,
            namespace=self._random.choice(TEAMS),
            owner=f"Job/{name}",
            lasts=lasts,
            **WANTED,
        )

    def _name(self, what):
        self._jobs += 1
        return f"{what}-{self._jobs:03}"

    def _drain(self, node):
        for pod in list(self._stage.api.pods.values()):
            if pod["spec"].get("nodeName") == node and pod["status"]["phase"] in (
                "Pending",
                "Running",
            ):
                self._stage.api.drop(pod)

    def _offer(self, name, gpus):
        self._change(
            name,
            lambda node: (
                node["status"]["allocatable"].update({builders.GPU: str(gpus)})
                if gpus is not None
                else None
            ),
        )
        if gpus == 8:
            self._change(name, lambda node: node["status"]["capacity"].update({builders.GPU: "8"}))

    def _ready(self, name, ready):
        def change(node):
            node["status"]["conditions"] = [READY if ready else NOT_READY]
            others = [
                each
                for each in node["spec"].get("taints", ())
                if not each["key"].startswith("node.kubernetes.io/")
            ]
            node["spec"]["taints"] = others + ([] if ready else copy.deepcopy(NOT_READY_TAINTS))

        self._change(name, change)

    def _change(self, name, change):
        if any(each["metadata"]["name"] == name for each in self._stage.api.nodes.values()):
            self._stage.change_node(name, change)
