"""Which taints keep a pod off a node: the rules of kube-scheduler's TaintToleration plugin.

Source: ``ToleratesTaint`` in k8s.io/api/core/v1/toleration.go.
"""

import re

import msgspec

from gpu_triage.core import objects

UNSCHEDULABLE = "node.kubernetes.io/unschedulable"
_CANONICAL = re.compile(r"0|-?[1-9][0-9]{0,18}")
_INT64 = range(-(2**63), 2**63)


class Taint(msgspec.Struct, frozen=True):
    """A taint that blocks: its effect is NoSchedule or NoExecute."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        """As kubectl writes it: KEY=VALUE:EFFECT."""
        return (
            f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"
        )


class Toleration(msgspec.Struct, frozen=True):
    """A toleration with its defaults filled in."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration alone lets the taint pass."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        match self.operator:
            case "" | "Equal":
                return self.value == taint.value
            case "Exists":
                return True
            case "Gt" | "Lt":
                return _compare(self.operator, taint.value, self.value)
            case _:
                return False


def blocking(spec: objects.NodeSpec | None) -> tuple[Taint, ...]:
    """The taints of a node that can keep pods off it, in their order; a cordon is one of them."""
    if spec is None:
        return ()
    taints = [
        Taint(taint.key, taint.value or "", taint.effect)
        for taint in spec.taints or ()
        if taint.effect in ("NoSchedule", "NoExecute")
    ]
    cordon = Taint(UNSCHEDULABLE, "", "NoSchedule")
    if spec.unschedulable and cordon not in taints:
        taints.append(cordon)
    return tuple(taints)


def tolerations(spec: objects.PodSpec) -> tuple[Toleration, ...]:
    """A pod's tolerations."""
    return tuple(
        Toleration(each.key or "", each.operator or "", each.value or "", each.effect or "")
        for each in spec.tolerations or ()
    )


def untolerated(taints: tuple[Taint, ...], given: tuple[Toleration, ...]) -> list[Taint]:
    """The taints that no toleration lets pass."""
    return [taint for taint in taints if not any(each.tolerates(taint) for each in given)]


def _compare(operator: str, taint: str, toleration: str) -> bool:
    """Gt: the taint's value is above the toleration's; both canonical integers of 64 bits."""
    if not (_CANONICAL.fullmatch(taint) and _CANONICAL.fullmatch(toleration)):
        return False
    left, right = int(taint), int(toleration)
    if left not in _INT64 or right not in _INT64:
        return False
    return left > right if operator == "Gt" else left < right
