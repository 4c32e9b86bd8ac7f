import pytest

from gpu_triage.core import objects
from gpu_triage.core.request import request
from gpu_triage.core.rules import Rules

GPU = "nvidia.com/gpu"


def container(amount=None, *, limits=None, always=None, resource=GPU):
    resources = {}
    if amount is not None:
        resources["requests"] = {resource: amount}
    if limits is not None:
        resources["limits"] = {resource: limits}
    raw = {"name": "c", "resources": resources}
    if always is not None:
        raw["restartPolicy"] = always
    return raw


def asked(rules=Rules(), **spec):
    return request(objects.pod({"spec": spec}).spec, rules)


def init(amount, restart=None):
    return container(amount, always=restart)


@pytest.mark.parametrize(
    ("containers", "inits", "overhead", "total"),
    [
        pytest.param([1, 2], [], None, 3, id="app containers add up"),
        pytest.param([1], [(4, None)], None, 4, id="an init container that needs more decides"),
        pytest.param([4], [(1, None), (3, None)], None, 4, id="plain init containers take turns"),
        pytest.param([1], [(2, "Always")], None, 3, id="a sidecar runs beside"),
        pytest.param([1], [(2, "OnFailure")], None, 2, id="OnFailure makes no sidecar"),
        pytest.param([1], [(2, "Never")], None, 2, id="Never makes no sidecar"),
        pytest.param(
            [0], [(2, "Always"), (3, None)], None, 5, id="a plain one adds to sidecars before it"
        ),
        pytest.param(
            [0],
            [(3, None), (2, "Always")],
            None,
            3,
            id="a plain one does not add to later sidecars",
        ),
        pytest.param([0], [(1, "Always"), (1, "Always"), (1, None)], None, 3, id="sidecars add up"),
        pytest.param([1], [], "2", 3, id="overhead comes on top"),
        pytest.param([1], [(4, None)], "1", 5, id="overhead comes on top of init containers too"),
    ],
)
def test_the_sum_is_the_schedulers(containers, inits, overhead, total):
    spec = {
        "containers": [container(str(n)) for n in containers],
        "initContainers": [init(str(n), restart) for n, restart in inits],
    }
    if overhead:
        spec["overhead"] = {GPU: overhead}
    assert asked(**spec) == {GPU: total}


def test_a_limit_stands_for_a_missing_request():
    assert asked(containers=[container(limits="2")]) == {GPU: 2}


def test_a_request_goes_before_a_limit():
    assert asked(containers=[container("1", limits="2")]) == {GPU: 1}


@pytest.mark.parametrize("zero", ["0", 0, "0m"])
def test_a_request_of_zero_is_none(zero):
    assert asked(containers=[container(zero)]) == {}


def test_several_gpu_resources_are_told_apart_and_others_left_out():
    mig = "nvidia.com/mig-1g.5gb"
    assert asked(
        containers=[container("1"), container("2", resource=mig), container("4", resource="cpu")]
    ) == {GPU: 1, mig: 2}


def test_patterns_are_a_setting():
    amd = Rules(resources=("amd.com/gpu",))
    assert asked(amd, containers=[container("1"), container("3", resource="amd.com/gpu")]) == {
        "amd.com/gpu": 3
    }


def test_pod_level_resources_and_ephemeral_containers_never_count():
    assert (
        asked(
            resources={"requests": {GPU: "8"}},
            ephemeralContainers=[container("8")],
            containers=[container()],
        )
        == {}
    )


@pytest.mark.parametrize("spec", [{}, {"containers": None}, {"containers": [{"resources": None}]}])
def test_what_is_left_out_or_null_asks_for_nothing(spec):
    assert asked(**spec) == {}


def test_a_broken_quantity_names_its_place():
    with pytest.raises(
        objects.ObjectError,
        match=r"'two' is no quantity .* at `\$.spec.containers\[1\].resources.requests\[nvidia",
    ):
        asked(containers=[container("1"), container("two")])
