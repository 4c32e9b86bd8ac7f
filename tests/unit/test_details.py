"""The second words, each with the cluster that brings it, and the order among them."""

import pytest

from gpu_triage.core import objects
from tests.answers import NOW, words
from tests.builders import GPU, GPU_TOLERATION, node, pod

TEAM = {"key": "team", "value": "a", "effect": "NoSchedule"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}
PRESSURE = {"key": "node.kubernetes.io/memory-pressure", "effect": "NoSchedule"}
STARTUP = {"key": "karpenter.sh/unregistered", "effect": "NoExecute"}
PRODUCT = {"nvidia.com/gpu.product": "A100"}
MIG = "nvidia.com/mig-1g.5gb"
YOUNG = "2026-01-10T09:50:00Z"
OLD = "2025-06-01T08:00:00Z"


def cpu_node(name="cpu-a", **more):
    return node(name, gpus=None, **more)


def holder(gpus=8, on="gpu-a", name="holder", **more):
    return pod(name, gpus, node=on, **more)


class TestNoRequest:
    @pytest.mark.parametrize(
        ("asked", "detail"),
        [
            (pod(gpus=1, resource="nvidia.com/gpus"), "lookalike-name"),
            (pod(gpus=1, resource="alpha.kubernetes.io/nvidia-gpu"), "lookalike-name"),
            (pod(gpus=1, resource="amd.com/gpu"), "lookalike-name"),
            (pod(gpus=0, resourceClaims=[{"name": "gpu"}]), "resource-claim"),
            (pod(gpus=0, annotations={"gpu-fraction": "0.5"}), "vendor-annotation"),
            (pod(gpus=0, annotations={"gpu-note": "please"}), "none"),
            (pod(gpus=0, annotations={"gpu-triage.io/expected-gpus": "8"}), "none"),
            (pod(gpus=0, tolerations=[GPU_TOLERATION]), "intent-only"),
            (pod(gpus=0, tolerations=[{"operator": "Exists"}]), "none"),
            (pod(gpus=0, selector=PRODUCT), "intent-only"),
            (pod(gpus=0, runtimeClassName="nvidia"), "intent-only"),
            (pod(gpus=0, runtimeClassName="gvisor"), "none"),
            (pod(gpus=1, resource="cpu"), "none"),
            (pod(gpus=0), "none"),
        ],
    )
    def test_signs_of_a_gpu_that_was_meant(self, asked, detail):
        assert words(asked, node()) == f"no-request/{detail}"

    def test_avoiding_gpu_nodes_is_no_sign_of_wanting_them(self):
        term = {"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "DoesNotExist"}]}
        required = {"nodeSelectorTerms": [term]}
        affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        assert words(pod(gpus=0, affinity=affinity)) == "no-request/none"


@pytest.mark.parametrize(
    ("phase", "reason", "detail"),
    [
        ("Failed", "OutOfnvidia.com/gpu", "rejected"),
        ("Failed", "UnexpectedAdmissionError", "rejected"),
        ("Failed", "TopologyAffinityError", "rejected"),
        ("Failed", "Evicted", "ended"),
        ("Succeeded", None, "ended"),
        ("Pending", None, "starting"),
        ("Running", None, "running"),
        ("Unknown", None, "running"),
    ],
)
def test_what_became_of_a_placed_pod(phase, reason, detail):
    asked = pod(node="gpu-a", phase=phase, status={"reason": reason})
    assert words(asked, node()) == f"ok/{detail}"


def affinity(*terms):
    required = {"nodeSelectorTerms": [{"matchExpressions": list(term)} for term in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def has(key, *values):
    return {"key": key, "operator": "In", "values": list(values)}


class TestLabelMismatch:
    @pytest.mark.parametrize(
        ("asked", "detail"),
        [
            (pod(selector={"nowhere": "x"}), "unknown-key"),
            (pod(selector={"zone": "c"}), "unknown-value"),
            (pod(selector={"zone": "c", "nowhere": "x"}), "unknown-key"),
            (pod(selector={"zone": "a", "disk": "ssd"}), "no-node-has-all"),
            (pod(affinity=affinity([has("nowhere", "x")], [has("zone", "c")])), "unknown-value"),
            (
                pod(affinity=affinity([has("zone", "c")], [has("zone", "a"), has("disk", "ssd")])),
                "no-node-has-all",
            ),
            (pod(affinity=affinity([])), "no-node-has-all"),
            (
                pod(affinity=affinity([{"key": "zone", "operator": "DoesNotExist"}])),
                "no-node-has-all",
            ),
            (pod(selector={"kubernetes.io/hostname": "gpu-z"}), "unknown-value"),
        ],
    )
    def test_what_no_node_has(self, asked, detail):
        nodes = node("gpu-a", labels={"zone": "a"}), node("b", labels={"zone": "b", "disk": "ssd"})
        assert words(asked, *nodes) == f"label-mismatch/{detail}"

    def test_an_unknown_node_name(self):
        term = {"matchFields": [has("metadata.name", "gpu-z")]}
        required = {"nodeSelectorTerms": [term]}
        by_name = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
        assert words(pod(affinity=by_name), node()) == "label-mismatch/unknown-value"


class TestTaint:
    @pytest.mark.parametrize(
        ("nodes", "detail"),
        [
            ([node(taints=[TEAM])], "untolerated"),
            ([node(taints=[NOT_READY])], "not-ready"),
            ([node(taints=[UNREACHABLE, TEAM])], "not-ready"),
            ([node(unschedulable=True)], "cordoned"),
            ([node(taints=[PRESSURE])], "pressure"),
            ([node(taints=[NOT_READY], unschedulable=True)], "not-ready"),
            ([node(taints=[TEAM], unschedulable=True)], "cordoned"),
            ([node(taints=[NOT_READY]), node("b", unschedulable=True)], "not-ready"),
            (
                [
                    node(taints=[NOT_READY]),
                    node("b", unschedulable=True),
                    node("c", unschedulable=True),
                ],
                "cordoned",
            ),
            ([node(taints=[NOT_READY]), node("b", taints=[TEAM])], "untolerated"),
            (
                [
                    node(taints=[NOT_READY]),
                    node("b", taints=[NOT_READY]),
                    node("c", gpus=0, capacity=8, taints=[TEAM]),
                ],
                "not-ready",
            ),
            ([node(gpus=0, capacity=8, taints=[TEAM])], "untolerated"),
            ([node(taints=[STARTUP])], "not-ready"),
        ],
    )
    def test_the_kind_on_most_candidates_unless_a_usable_node_is_closed_on_purpose(
        self, nodes, detail
    ):
        late = NOW + 3600
        assert words(pod(), *nodes, now=late) == f"taint/{detail}"


class TestNoGPUNode:
    @pytest.mark.parametrize(
        ("nodes", "detail"),
        [
            ([], "no-nodes"),
            ([cpu_node()], "not-advertised"),
            ([cpu_node(labels=PRODUCT)], "plugin-missing"),
            ([cpu_node(labels={"nvidia.com/gpu.present": "false"})], "not-advertised"),
            ([cpu_node(labels=PRODUCT, resources={MIG: "7"})], "other-resource-name"),
            ([cpu_node(resources={MIG: "7"}), cpu_node("b", labels=PRODUCT)], "plugin-missing"),
            ([cpu_node(resources={"nvidia.com/gpu.shared": "4"})], "other-resource-name"),
            ([cpu_node(resources={MIG: "0"})], "never-advertised"),
            ([cpu_node(), cpu_node("b", resources={MIG: "7"}, taints=[TEAM])], "never-advertised"),
        ],
    )
    def test_what_the_nodes_have_instead(self, nodes, detail):
        assert words(pod(), *nodes) == f"no-gpu-node/{detail}"

    def test_a_selector_that_excludes_the_nodes_that_offer_it(self):
        pinned = pod(selector={"kubernetes.io/hostname": "cpu-a"})
        assert words(pinned, cpu_node(), node()) == "no-gpu-node/selector-excludes-gpu-nodes"


class TestAllocatableZero:
    def test_known_devices_of_which_none_is_healthy(self):
        assert words(pod(), node(gpus=0, capacity=8)) == "allocatable-zero/all-unhealthy"

    def test_a_plugin_that_is_gone(self):
        assert words(pod(), node(gpus=0)) == "allocatable-zero/plugin-gone"

    def test_the_first_of_both(self):
        both = node(gpus=0), node("b", gpus=0, capacity=8)
        assert words(pod(), *both) == "allocatable-zero/all-unhealthy"


class TestExhausted:
    def test_busy(self):
        assert words(pod(), node(), holder()) == "exhausted/busy"

    def test_more_than_any_has_never_fits(self):
        assert words(pod(gpus=16), node(), node("b")) == "exhausted/never-fits"

    def test_enough_in_all_but_on_no_single_node_is_fragmented(self):
        half = holder(5), holder(5, on="b", name="other")
        assert words(pod(gpus=4), node(), node("b"), *half) == "exhausted/fragmented"

    def test_what_is_below_zero_takes_nothing_from_the_sum(self):
        over = node("b", gpus=6, capacity=8), holder(8, on="b", name="other")
        pods = holder(5), holder(7, on="c", name="third")
        nodes = node(), node("c"), *over
        assert words(pod(gpus=4), *nodes, *pods) == "exhausted/fragmented"

    def test_held_by_nominations_alone_is_reserved(self):
        nominee = pod("nominee", 8, status={"nominatedNodeName": "gpu-a"})
        assert words(pod(), node(), nominee) == "exhausted/reserved"

    @pytest.mark.parametrize(
        ("broken", "detail"),
        [
            (node(gpus=7, capacity=8), "unhealthy-devices"),
            (
                node(gpus=7, annotations={"gpu-triage.io/expected-gpus": GPU + "=8"}),
                "unhealthy-devices",
            ),
            (node(gpus=7, labels={"nvidia.com/gpu.count": "8"}), "unhealthy-devices"),
            (node(gpus=7, labels={"nvidia.com/gpu.count": "eight"}), "never-fits"),
            (
                node(gpus=7, labels={"nvidia.com/gpu.count": "8"}, resources={MIG: "7"}),
                "never-fits",
            ),
            (
                node(gpus=7, capacity=8, annotations={"gpu-triage.io/expected-gpus": GPU + "=7"}),
                "never-fits",
            ),
            (node(gpus=7, annotations={"gpu-triage.io/expected-gpus": "lots,=,x"}), "never-fits"),
        ],
    )
    def test_what_a_node_should_have(self, broken, detail):
        assert words(pod(gpus=8), broken) == f"exhausted/{detail}"

    @pytest.mark.parametrize(
        ("other", "lost"),
        [
            (node("b", taints=[NOT_READY]), True),
            (node("b", taints=[UNREACHABLE]), True),
            (node("b", taints=[NOT_READY], created=YOUNG), False),
            (node("b", gpus=0, created=YOUNG), False),
            (node("b", taints=[NOT_READY, TEAM]), False),
            (node("b", unschedulable=True), False),
            (node("b", taints=[NOT_READY], gpus=0), True),
            (node("b", gpus=0), True),
            (node("b", gpus=0, capacity=8), True),
            (node("b", gpus=0, unschedulable=True), False),
            (cpu_node("b", labels=PRODUCT), True),
            (cpu_node("b"), False),
            (cpu_node("b", labels=PRODUCT, resources={MIG: "7"}), False),
            (node("b", gpus=0, labels={"nvidia.com/gpu.deploy.device-plugin": "false"}), False),
            (
                node("b", gpus=0, labels={"nvidia.com/gpu.workload.config": "vm-passthrough"}),
                False,
            ),
            (cpu_node("b", labels=PRODUCT, taints=[TEAM]), False),
            (node("b", gpus=0, annotations={"gpu-triage.io/expected-gpus": GPU + "=1"}), False),
        ],
    )
    def test_a_node_that_would_have_helped(self, other, lost):
        detail = "nodes-lost" if lost else "busy"
        assert words(pod(gpus=2), node(), holder(), other) == f"exhausted/{detail}"

    def test_pods_that_stay_on_a_lost_node_hold_their_gpus_and_terminating_ones_do_not(self):
        lost = node("b", taints=[NOT_READY])
        there = holder(8, on="b", name="there")
        assert words(pod(), node(), holder(), lost, there) == "exhausted/busy"
        there["metadata"]["deletionTimestamp"] = "2026-01-10T10:00:30Z"
        assert words(pod(), node(), holder(), lost, there) == "exhausted/nodes-lost"

    def test_of_a_node_that_says_0_nobody_knows_how_much_was_free_beside_those_that_stay(self):
        there = holder(2, on="b", name="there")
        assert (
            words(pod(gpus=2), node(), holder(), node("b", gpus=0), there) == "exhausted/nodes-lost"
        )
        known = node("b", gpus=0, annotations={"gpu-triage.io/expected-gpus": GPU + "=3"})
        assert words(pod(gpus=2), node(), holder(), known, there) == "exhausted/busy"
        assert words(pod(gpus=1), node(), holder(), known, there) == "exhausted/nodes-lost"

    def test_a_lost_node_that_the_selector_excludes_would_not_help(self):
        pinned = pod(selector={"kubernetes.io/hostname": "gpu-a"})
        assert words(pinned, node(), holder(), node("b", gpus=0)) == "exhausted/busy"


class TestOnTheWay:
    def test_a_nomination_to_a_node_that_does_not_exist_yet(self):
        coming = pod(gpus=9, status={"nominatedNodeName": "gpu-new"})
        assert words(coming, node()) == "exhausted/scaling-up"
        assert words(coming, cpu_node()) == "no-gpu-node/scaling-up"
        assert words(coming, node(taints=[TEAM])) == "taint/scaling-up"

    @pytest.mark.parametrize(
        ("starting", "helps"),
        [
            (cpu_node("new", created=YOUNG, labels=PRODUCT), True),
            (cpu_node("new", created=OLD, labels=PRODUCT), False),
            (cpu_node("new", created=None, labels=PRODUCT), False),
            (cpu_node("new", created=YOUNG), False),
            (cpu_node("new", created=YOUNG, labels=PRODUCT, taints=[NOT_READY]), True),
            (cpu_node("new", created=OLD, labels=PRODUCT, taints=[STARTUP]), True),
            (cpu_node("new", created=YOUNG, labels=PRODUCT, taints=[TEAM]), False),
            (cpu_node("new", created=YOUNG, labels=PRODUCT, unschedulable=True), False),
            (node("new", 0, created=YOUNG, labels=PRODUCT), True),
            (node("new", 0, capacity=8, created=YOUNG, labels=PRODUCT), False),
            (node("new", 1, created=YOUNG, labels=PRODUCT, taints=[NOT_READY]), False),
            (node("new", 2, created=YOUNG, labels=PRODUCT, taints=[NOT_READY]), True),
        ],
    )
    def test_a_node_that_starts_and_would_help(self, starting, helps):
        answer = words(pod(gpus=2), node(), holder(), starting)
        assert answer.endswith("/node-starting") is helps

    def test_labels_still_to_come_do_not_keep_it_from_counting(self):
        wants = pod(selector={"pool": "gpu", **PRODUCT})
        new = cpu_node(
            "new", created=YOUNG, labels={"pool": "gpu", "nvidia.com/gpu.present": "true"}
        )
        assert words(wants, new) == "label-mismatch/node-starting"
        assert words(wants, node(labels={"pool": "x"})) == "label-mismatch/unknown-key"

    def test_a_young_cpu_node_counts_only_where_the_selector_chooses_it(self):
        new = cpu_node("new", created=YOUNG)
        chosen = pod(selector={"kubernetes.io/hostname": "new"})
        assert words(pod(), new) == "no-gpu-node/not-advertised"
        assert words(chosen, new) == "no-gpu-node/node-starting"

    def test_it_ends_when_the_node_is_no_longer_young(self):
        new = cpu_node("new", created="2026-01-10T10:00:00Z", labels=PRODUCT)
        begin = objects.seconds("2026-01-10T10:00:00Z")
        assert words(pod(), new, now=begin + 899) == "no-gpu-node/node-starting"
        assert words(pod(), new, now=begin + 900) == "no-gpu-node/plugin-missing"

    def test_a_start_up_taint_that_never_goes_counts_15_minutes_of_the_pods_time(self):
        stuck = cpu_node("new", labels=PRODUCT, taints=[STARTUP])
        begin = objects.seconds("2026-01-10T10:00:00Z")
        assert words(pod(), stuck, now=begin + 899) == "taint/node-starting"
        assert words(pod(), stuck, now=begin + 900) == "taint/not-ready"


class TestNotGPU:
    @pytest.mark.parametrize(
        ("asked", "detail"),
        [
            (pod(), "not-tried"),
            (pod(schedulerName="kai-scheduler"), "other-scheduler"),
            (pod(schedulerName=None), "not-tried"),
        ],
    )
    def test_what_it_waits_for(self, asked, detail):
        assert words(asked, node()) == f"not-gpu/{detail}"

    @pytest.mark.parametrize(
        ("reason", "message", "detail"),
        [
            ("Unschedulable", "0/1 nodes are available: 1 Insufficient cpu.", "cpu"),
            ("SchedulerError", "running Filter plugin: boom", "other"),
            ("SchedulingGated", "Scheduling is blocked", "not-tried"),
            ("Unschedulable", "", "not-tried"),
        ],
    )
    def test_a_verdict_of_the_scheduler_has_a_text(self, reason, message, detail):
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "reason": reason,
            "message": message,
        }
        assert words(pod(status={"conditions": [condition]}), node()) == f"not-gpu/{detail}"
