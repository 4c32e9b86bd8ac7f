"""Small ways to be wrong about taints, tolerations, selectors and affinity."""

from .mutating import Breakage

TOLERATES = "core.toleration:Toleration.tolerates"
BLOCKING = "core.toleration:blocking"
UNTOLERATED = "core.toleration:untolerated"
COMPARE = "core.toleration:_compare"
HOLDS = "core.selector:Requirement.holds"
ACCEPTS = "core.selector:Requirement.accepts"
SELECTOR = "core.selector:selector"
INT64 = "core.selector:_int64"
TERM = "core.selector:_term"
CHOOSE = "core.selector:Selector.choose"

PLACEMENT = [
    Breakage(
        "a toleration's effect is ignored",
        TOLERATES,
        "if self.effect and self.effect != taint.effect:",
        "if False:",
    ),
    Breakage(
        "a toleration without effect tolerates nothing",
        TOLERATES,
        "if self.effect and self.effect != taint.effect:",
        "if self.effect != taint.effect:",
    ),
    Breakage(
        "a toleration's key is ignored",
        TOLERATES,
        "if self.key and self.key != taint.key:",
        "if False:",
    ),
    Breakage(
        "a toleration without key tolerates nothing",
        TOLERATES,
        "if self.key and self.key != taint.key:",
        "if self.key != taint.key:",
    ),
    Breakage(
        "Equal ignores the value",
        TOLERATES,
        "return self.value == taint.value",
        "return True",
    ),
    Breakage(
        "a toleration without operator is Exists",
        TOLERATES,
        'case "" | "Equal":',
        'case "Equal" if self.operator:',
    ),
    Breakage(
        "Exists compares the value",
        TOLERATES,
        'case "" | "Equal":',
        'case "" | "Equal" | "Exists":',
    ),
    Breakage(
        "tolerations with Gt and Lt tolerate nothing",
        TOLERATES,
        "return _compare(self.operator, taint.value, self.value)",
        "return False",
    ),
    Breakage(
        "a toleration's Gt is read as Lt",
        COMPARE,
        'return left > right if operator == "Gt" else left < right',
        'return left < right if operator == "Gt" else left > right',
    ),
    Breakage(
        "a toleration's Gt is read as ≥",
        COMPARE,
        "return left > right",
        "return left >= right",
    ),
    Breakage(
        "a toleration's Lt is read as ≤",
        COMPARE,
        "else left < right",
        "else left <= right",
    ),
    Breakage(
        "a taint's value 08 is the number 8",
        COMPARE,
        "_CANONICAL.fullmatch(taint) and",
        "taint.isdigit() and",
    ),
    Breakage(
        "a cordon is ignored",
        BLOCKING,
        "if spec.unschedulable and cordon not in taints:",
        "if False:",
    ),
    Breakage(
        "PreferNoSchedule blocks",
        BLOCKING,
        'if taint.effect in ("NoSchedule", "NoExecute")',
        "if taint.effect",
    ),
    Breakage(
        "NoExecute does not block",
        BLOCKING,
        'if taint.effect in ("NoSchedule", "NoExecute")',
        'if taint.effect == "NoSchedule"',
    ),
    Breakage(
        "only the first taint of a node is looked at",
        UNTOLERATED,
        "for taint in taints if",
        "for taint in taints[:1] if",
    ),
    Breakage(
        "only the first toleration of a pod is looked at",
        UNTOLERATED,
        "for each in given)",
        "for each in given[:1])",
    ),
    Breakage(
        "NotIn is false where the label is absent",
        ACCEPTS,
        "return actual is None or actual not in self.values",
        "return actual is not None and actual not in self.values",
    ),
    Breakage(
        "an absent label is an empty one",
        HOLDS,
        "labels.get(self.key)",
        'labels.get(self.key, "")',
    ),
    Breakage(
        "In looks at the first value only",
        ACCEPTS,
        "return actual is not None and actual in self.values",
        "return actual is not None and actual in self.values[:1]",
    ),
    Breakage("Gt is read as ≥", ACCEPTS, "return left > right", "return left >= right"),
    Breakage("Lt is read as ≤", ACCEPTS, "else left < right", "else left <= right"),
    Breakage(
        "Gt and Lt compare texts",
        ACCEPTS,
        'return left > right if self.operator == "Gt" else left < right',
        "return actual > self.values[0] if self.operator == 'Gt' else actual < self.values[0]",
    ),
    Breakage(
        "Gt and Lt know numbers beyond 64 bits",
        INT64,
        "return number if number in _INT64 else None",
        "return number",
    ),
    Breakage(
        "a number with leading zeros is none",
        INT64,
        "if not _INTEGER.fullmatch(text):",
        'if not _INTEGER.fullmatch(text) or text.startswith("0"):',
    ),
    Breakage(
        "of a term that does not parse, the rest still counts",
        TERM,
        "return whole if len(whole) == len(parsed) else ()",
        "return whole",
    ),
    Breakage(
        "matchFields are ignored",
        TERM,
        "for each in term.match_fields or ()",
        "for each in ()",
    ),
    Breakage(
        "matchExpressions are ignored beside matchFields",
        TERM,
        "for each in term.match_expressions or ()",
        "for each in (() if term.match_fields else term.match_expressions or ())",
    ),
    Breakage(
        "an empty term matches everything",
        SELECTOR,
        "if (requirements := _term(term))",
        "if (requirements := _term(term)) is not None",
    ),
    Breakage(
        "terms are alternatives to the nodeSelector",
        SELECTOR,
        "Selector(tuple(each for each, _ in terms),",
        "Selector((*([pairs] if pairs else []), *(each[len(pairs) :] for each, _ in terms)),",
    ),
    Breakage(
        "the nodeSelector is ignored where there is an affinity",
        SELECTOR,
        "(pairs + requirements, at",
        "(requirements, at",
    ),
    Breakage(
        "every term must match",
        CHOOSE,
        "        chosen |= left\n    return chosen",
        "        if not left:\n            return 0\n        chosen = -1\n    return chosen",
    ),
    Breakage(
        "one requirement of a term is enough",
        CHOOSE,
        "        left = -1\n"
        "        for requirement in alternative:\n"
        "            left &= met(requirement)\n"
        "            if not left:\n"
        "                break\n",
        "        left = 0 if alternative else -1\n"
        "        for requirement in alternative:\n"
        "            left |= met(requirement)\n",
    ),
]
