"""The sentence for a selector that no node satisfies: what is missing, and what comes nearest."""

import difflib
from collections import Counter

from gpu_triage.core.obstacles import unmet
from gpu_triage.core.reasons import lacking
from gpu_triage.core.selector import Requirement
from gpu_triage.core.survey import Survey
from gpu_triage.core.wording import count_of, listing


def label_mismatch(seen: Survey) -> str:
    """What no node has, with the nearest existing value; or the node that lacks least."""
    alternatives = seen.pod.shape.selector.alternatives
    if not alternatives:
        return "No node can match: every term of the required node affinity is empty or invalid."
    missing = min((unmet(each, seen.picture) for each in alternatives), key=len)
    if missing:
        return _missing(missing[0], seen) + _rest(missing[1:])
    nearest = min(
        seen.picture.nodes.values(), key=lambda node: (len(lacking(seen, node)), node.name)
    )
    wanted = min(alternatives, key=len)
    some = " (one of several terms)" if len(alternatives) > 1 else ""
    return (
        f"No node has all of {listing([str(each) for each in wanted], most=5)}{some}."
        f" Nearest: {nearest.name} lacks {listing([str(e) for e in lacking(seen, nearest)])}."
    )


def _missing(requirement: Requirement, seen: Survey) -> str:
    nodes = seen.picture.nodes
    if requirement.field:
        close = difflib.get_close_matches(requirement.values[0], sorted(nodes), n=1)
        return f"No node is named {requirement.values[0]}." + (
            f" Nearest: {close[0]}." if close else ""
        )
    values = Counter(
        node.labels[requirement.key] for node in nodes.values() if requirement.key in node.labels
    )
    sentence = f"No node has {requirement}."
    if not requirement.wants_label:
        return f"Every node fails {requirement}."
    if not values:
        return f"{sentence} None of {count_of(len(nodes), 'node')} has the label {requirement.key}."
    wanted = requirement.values[0] if requirement.values else ""
    nearest = max(
        sorted(values), key=lambda value: difflib.SequenceMatcher(None, wanted, value).ratio()
    )
    return f"{sentence} Nearest: {nearest} on {count_of(values[nearest], 'node')}."


def _rest(others: list[Requirement]) -> str:
    return f" Nor has any {listing([str(each) for each in others])}." if others else ""
