"""Do to a manifest what a fix says."""

import copy
import re

from gpu_triage.core.quantity import count

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def applied(fix, pod):
    """The pod's manifest after the change."""
    changed = copy.deepcopy(pod)
    spec = changed["spec"]
    path = fix.path.removeprefix("spec.")
    if path == "tolerations":
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *fix.after]
    elif path.startswith("nodeSelector["):
        _put(spec["nodeSelector"], path.removeprefix("nodeSelector[")[:-1], fix)
    elif path.startswith("affinity."):
        _affinity(spec["affinity"]["nodeAffinity"], path, fix)
    else:
        kind, index, resource = re.fullmatch(
            r"(containers|initContainers)\[(\d+)\]\.resources\.limits(?:\[(.+)\])?", path
        ).groups()
        for amounts in spec[kind][int(index)]["resources"].values():
            if resource:
                assert count(amounts[resource]) == fix.before
                amounts[resource] = str(fix.after)
            else:
                amounts[fix.after] = amounts.pop(fix.before)
    return changed


def _put(mapping, key, fix):
    assert mapping[key] == fix.before
    if fix.after is None:
        del mapping[key]
    else:
        mapping[key] = fix.after


def _affinity(affinity, path, fix):
    found = re.search(r"\.nodeSelectorTerms\[(\d+)\]\.(\w+)\[(\d+)\]$", path)
    if found is None:
        assert affinity[REQUIRED]["nodeSelectorTerms"]
        assert fix.after is None
        del affinity[REQUIRED]
        return
    requirements = affinity[REQUIRED]["nodeSelectorTerms"][int(found[1])][found[2]]
    assert requirements[int(found[3])] == fix.before
    if fix.after is None:
        del requirements[int(found[3])]
    else:
        requirements[int(found[3])] = fix.after
