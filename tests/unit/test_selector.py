import pytest

from gpu_triage.core import objects
from gpu_triage.core.selector import selector

LABELS = {"gpu": "a100", "count": "8", "empty": "", "text": "many"}


def matches(*terms, pairs=None, labels=LABELS, name="gpu-1"):
    spec = {"nodeSelector": pairs} if pairs is not None else {}
    if terms:
        required = {"nodeSelectorTerms": list(terms)}
        spec["affinity"] = {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}
        }
    return selector(objects.pod({"spec": spec}).spec).matches(labels, name)


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


def field(operator, *values, key="metadata.name"):
    return {"matchFields": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("pairs", "passes"),
    [
        (None, True),
        ({}, True),
        ({"gpu": "a100"}, True),
        ({"gpu": "A100"}, False),
        ({"gpu": "a100", "count": "8"}, True),
        ({"gpu": "a100", "count": "4"}, False),
        ({"empty": ""}, True),
        ({"absent": ""}, False),
    ],
)
def test_node_selector(pairs, passes):
    assert matches(pairs=pairs) is passes


@pytest.mark.parametrize(
    ("term", "passes"),
    [
        (expression("gpu", "In", "h100", "a100"), True),
        (expression("gpu", "In", "h100"), False),
        (expression("absent", "In", "x"), False),
        (expression("gpu", "NotIn", "a100"), False),
        (expression("gpu", "NotIn", "h100"), True),
        (expression("absent", "NotIn", "x"), True),
        (expression("gpu", "Exists"), True),
        (expression("absent", "Exists"), False),
        (expression("absent", "DoesNotExist"), True),
        (expression("gpu", "DoesNotExist"), False),
        (expression("count", "Gt", "7"), True),
        (expression("count", "Gt", "8"), False),
        (expression("count", "Lt", "9"), True),
        (expression("count", "Lt", "8"), False),
        (expression("count", "Gt", "007"), True),
        (expression("text", "Gt", "1"), False),
        (expression("text", "Lt", "1"), False),
        (expression("absent", "Gt", "1"), False),
        (expression("count", "Gt", "lots"), False),
        (expression("count", "Lt", "9223372036854775808"), False),
        (expression("count", "Lt", "9223372036854775807"), True),
        (field("In", "gpu-1"), True),
        (field("In", "gpu-2"), False),
        (field("NotIn", "gpu-2"), True),
        (field("NotIn", "gpu-1"), False),
    ],
    ids=str,
)
def test_one_term(term, passes):
    assert matches(term) is passes


@pytest.mark.parametrize(
    "term",
    [
        {},
        {"matchExpressions": []},
        {"matchExpressions": None, "matchFields": None},
        expression("gpu", "In"),
        expression("gpu", "Exists", "a100"),
        expression("gpu", "Near", "a100"),
        expression("gpu", "Gt", "1", "2"),
        expression("not a key!", "NotIn", "x"),
        expression("Bad_Prefix/gpu", "DoesNotExist"),
        expression("gpu", "NotIn", "no value!"),
        field("Exists"),
        field("In", "gpu-1", "gpu-2"),
        field("NotIn", "x", key="metadata.uid"),
    ],
    ids=str,
)
def test_an_empty_or_unparsable_term_is_skipped_and_others_decide(term):
    assert not matches(term)
    assert matches(term, expression("gpu", "Exists"))


def test_an_unparsable_expression_takes_its_whole_term_along():
    term = {
        "matchExpressions": [
            {"key": "gpu", "operator": "Exists"},
            {"key": "count", "operator": "Gt", "values": ["lots"]},
        ]
    }
    assert not matches(term)


def test_an_empty_term_matches_once_fields_are_added():
    assert matches({"matchExpressions": [], **field("In", "gpu-1")})


def test_within_a_term_all_hold_and_terms_are_alternatives():
    both = {**expression("gpu", "In", "a100"), **field("In", "gpu-2")}
    assert not matches(both)
    assert matches(both, expression("count", "Exists"))


def test_selector_and_affinity_must_both_hold():
    assert matches(expression("count", "Exists"), pairs={"gpu": "a100"})
    assert not matches(expression("count", "Exists"), pairs={"gpu": "h100"})
    assert not matches(expression("absent", "Exists"), pairs={"gpu": "a100"})


@pytest.mark.parametrize(
    ("required", "passes"),
    [(None, True), ({}, False), ({"nodeSelectorTerms": []}, False)],
    ids=["null", "no terms", "empty terms"],
)
def test_a_null_requirement_is_no_constraint_and_one_without_terms_matches_nothing(
    required, passes
):
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    spec = objects.pod({"spec": {"affinity": affinity}}).spec
    assert selector(spec).matches(LABELS, "gpu-1") is passes


def test_preferred_affinity_never_filters():
    preferred = [{"weight": 1, "preference": expression("absent", "Exists")}]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    assert selector(objects.pod({"spec": {"affinity": affinity}}).spec).empty
