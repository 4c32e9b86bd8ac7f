"""Small ways to be wrong about who holds GPUs, what a node has, and which word follows."""

from .mutating import Breakage

ENDED = "core.pod_facts:PodFacts.ended"
HOLD = "cluster.inventory:Inventory._hold"
RESERVED = "core.picture:Picture.reserved_for_others"
TAKEN = "core.picture:Picture.taken_from"
CODE = "core.fit:node_code"
DECIDE = "core.funnel:decide"

HOLDING = [
    Breakage(
        "finished pods hold their GPUs",
        HOLD,
        "if pod.ended or not pod.shape.request:",
        "if not pod.shape.request:",
    ),
    Breakage(
        "failed pods hold their GPUs",
        ENDED,
        'in ("Succeeded", "Failed")',
        'in ("Succeeded",)',
    ),
    Breakage(
        "terminating pods are not counted",
        HOLD,
        "if pod.ended or not pod.shape.request:",
        "if pod.ended or pod.terminating or not pod.shape.request:",
    ),
    Breakage(
        "placed pods that do not run yet are not counted",
        HOLD,
        "if pod.node:",
        'if pod.node and pod.phase == "Pending":\n        return\n    elif pod.node:',
    ),
    Breakage(
        "pods of other schedulers are not counted",
        HOLD,
        "if pod.node:",
        'if pod.node and pod.scheduler == "volcano":\n        return\n    elif pod.node:',
    ),
    Breakage(
        "pods of other namespaces are not counted",
        HOLD,
        "if pod.node:",
        'if pod.node and pod.namespace != "default":\n        return\n    elif pod.node:',
    ),
    Breakage(
        "nominations of gated pods are not counted",
        HOLD,
        "elif pod.nominated:",
        "elif pod.nominated and not pod.gates:",
    ),
    Breakage(
        "nominations of terminating pods are not counted",
        HOLD,
        "elif pod.nominated:",
        "elif pod.nominated and not pod.terminating:",
    ),
    Breakage("nominations are not counted", TAKEN, "others = ", "others = [] and "),
    Breakage("a pod's own nomination is counted", RESERVED, "if uid != pod.uid", "if True"),
    Breakage(
        "nominations of equal priority are not counted",
        RESERVED,
        "other.priority >= pod.priority",
        "other.priority > pod.priority",
    ),
    Breakage(
        "nominations of lower priority are counted",
        RESERVED,
        "other.priority >= pod.priority",
        "True",
    ),
    Breakage(
        "nominations of other schedulers are counted",
        RESERVED,
        "self.rules.same_scheduler(other.scheduler, pod.scheduler)",
        "True",
    ),
    Breakage(
        "nominations count within one profile only",
        "core.rules:Rules.same_scheduler",
        "one == other or (one in self.kube_schedulers and other in self.kube_schedulers)",
        "one == other",
    ),
    Breakage(
        "a capacity of 0 vetoes",
        CODE,
        "node.allocatable.get(resource, 0)\n",
        "min(node.allocatable.get(resource, 0), node.capacity.get(resource, 0))\n",
    ),
    Breakage(
        "capacity is what counts",
        CODE,
        "node.allocatable.get(resource, 0)\n",
        "node.capacity.get(resource, 0)\n",
    ),
    Breakage(
        "the last device cannot be had",
        CODE,
        "allocatable - taken.get(resource, 0) < wanted",
        "allocatable - taken.get(resource, 0) <= wanted",
    ),
    Breakage(
        "what is taken is ignored",
        CODE,
        "allocatable - taken.get(resource, 0) < wanted",
        "allocatable < wanted",
    ),
    Breakage(
        "any free device is enough",
        CODE,
        "allocatable - taken.get(resource, 0) < wanted",
        "allocatable - taken.get(resource, 0) < 1",
    ),
    Breakage(
        "only the first of several resources is looked at",
        CODE,
        "for resource, wanted in shape.request:",
        "for resource, wanted in shape.request[:1]:",
    ),
    Breakage(
        "DRA serves a mapped resource on every node",
        CODE,
        "if allocatable <= 0:",
        "if allocatable <= 0 or resource in classes:",
    ),
    Breakage("DRA serves no resource", CODE, "if resource in classes:", "if False:"),
    Breakage(
        "what DRA decides is called a fit",
        DECIDE,
        "return Cause.NOT_GPU if certain else Cause.UNKNOWN",
        "return Cause.NOT_GPU",
    ),
    Breakage(
        "exhausted is never said",
        DECIDE,
        "if not left.free:",
        "if False:",
    ),
    Breakage(
        "nodes that do not offer the resource stay candidates",
        "core.funnel:passes_through",
        "return both if offering else LABEL",
        "return LABEL",
    ),
    Breakage(
        "allocatable-zero is never said",
        DECIDE,
        "if not left.allocatable:",
        "if False:",
    ),
    Breakage(
        "a leftover 0 beside a living MIG resource is an offer",
        "core.node_facts:NodeFacts.offers",
        "return not self.living_sibling(resource)",
        "return True",
    ),
    Breakage(
        "a 0 is no offer",
        "core.node_facts:NodeFacts.offers",
        "return not self.living_sibling(resource)",
        "return False",
    ),
]
