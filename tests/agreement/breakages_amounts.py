"""Small ways to be wrong about what a pod asks for and what a node has."""

from .mutating import Breakage

AMOUNT = "core.request:_amount"
PARSE = "core.quantity:_parse"
POD_FACTS = "core.pod_facts:pod_facts"
NODE_FACTS = "core.node_facts:node_facts"

AMOUNTS = [
    Breakage(
        "sidecars declared before an init container are forgotten",
        AMOUNT,
        "highest = max(highest, own + sidecars)",
        "highest = max(highest, own)",
    ),
    Breakage(
        "every sidecar counts for every init container",
        AMOUNT,
        "    sidecars = 0\n",
        "    sidecars = _total([c for c in spec.init_containers or ()"
        ' if c.restart_policy == "Always"], "", resource)\n',
    ),
    Breakage(
        "sidecars do not run beside the app",
        AMOUNT,
        "max(running + sidecars, highest)",
        "max(running, highest)",
    ),
    Breakage(
        "init containers are summed",
        AMOUNT,
        "highest = max(highest, own + sidecars)",
        "highest += own",
    ),
    Breakage(
        "init containers are ignored",
        AMOUNT,
        "max(running + sidecars, highest)",
        "running + sidecars",
    ),
    Breakage(
        "any restartPolicy makes a sidecar",
        AMOUNT,
        'if container.restart_policy == "Always":',
        "if container.restart_policy:",
    ),
    Breakage(
        "the overhead is forgotten",
        AMOUNT,
        "overhead = (spec.overhead or {}).get(resource, 0)",
        "overhead = 0",
    ),
    Breakage(
        "only the first container is looked at",
        AMOUNT,
        "_total(spec.containers or (),",
        "_total((spec.containers or ())[:1],",
    ),
    Breakage(
        "a limit without a request is none",
        "core.request:_of",
        'for field in ("requests", "limits"):',
        'for field in ("requests",):',
    ),
    Breakage(
        "a quantity's suffix is ignored",
        PARSE,
        'number *= _SCALE[match["suffix"]]',
        "pass",
    ),
    Breakage(
        "a quantity's exponent is ignored",
        PARSE,
        "number = number.scaleb(max(exponent, -40)) if number else number",
        "pass",
    ),
    Breakage(
        "quantities are rounded down",
        PARSE,
        "ROUND_CEILING",
        '"ROUND_FLOOR"',
        hidden="the API server refuses parts of a device, in pods and in nodes",
    ),
    Breakage(
        "a pod without priority yields to every other",
        POD_FACTS,
        "priority=spec.priority or 0",
        "priority=spec.priority or -(10**9)",
    ),
    Breakage(
        "a pod that names no scheduler has none",
        POD_FACTS,
        "scheduler=spec.scheduler_name or DEFAULT_SCHEDULER",
        'scheduler=spec.scheduler_name or ""',
    ),
    Breakage(
        "an empty allocatable map is 0",
        NODE_FACTS,
        "if status.allocatable else dict(capacity)",
        "if status.allocatable is not None else dict(capacity)",
    ),
    Breakage(
        "an absent allocatable map is 0",
        NODE_FACTS,
        "if status.allocatable else dict(capacity)",
        "if status.allocatable else {}",
    ),
]
