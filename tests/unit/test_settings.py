"""Settings from the environment: what is taken, what is refused, and in which words."""

import pytest

from gpu_triage.core.rules import Rules
from gpu_triage.settings import PREFIX, Settings, SettingsError, load


def problems(**environ):
    with pytest.raises(SettingsError) as caught:
        load({PREFIX + name: value for name, value in environ.items()})
    return caught.value.problems


def test_without_any_the_defaults_hold():
    assert load({"PATH": "/bin"}) == Settings()
    assert Settings().rules == Rules()


def test_every_setting_can_be_set():
    given = {
        "RESOURCES": "amd.com/gpu, nvidia.com/mig-*",
        "NODE_LABELS": "amd.com/gpu.*",
        "STARTUP_TAINTS": "example.com/starting",
        "KUBE_SCHEDULERS": "default-scheduler,gpu-scheduler",
        "NODE_STARTING_SECONDS": "600",
        "DRA": "OFF",
        "ANNOTATION_DOMAIN": "triage.example.com",
        "OLD_ANNOTATION_DOMAINS": "gpu-triage.io,old.example.com",
        "LEAN": "false",
        "STALE_SECONDS": "200",
        "PUBLISH_GATED": "true",
        "SETTLE_SECONDS": "0.5",
        "FIT_SECONDS": "60",
        "AUTOSCALING": "on",
        "AUTOSCALING_SETTLE_SECONDS": "45",
        "READ_EVENTS": "yes",
        "SCALING_UP_SECONDS": "600",
        "RESTLESS_SECONDS": "90",
        "QUIET_SECONDS": "300",
        "MESSAGE_REFRESH_SECONDS": "300",
        "EVENT_SERIES_SECONDS": "900",
        "PUBLISH_HOLDERS": "none",
        "EVENT_GAP_SECONDS": "60",
        "EVENT_PODS": "5",
        "REFRESHES_PER_SECOND": "2",
        "WRITES_PER_SECOND": "20",
        "WRITE_BURST": "40",
        "LEASE": "monitoring/gpu-triage",
        "LEASE_SECONDS": "15",
        "POD_CAUSE_INFO": "false",
        "HTTP_ADDRESS": "[::]:9090",
        "LOG_LEVEL": "debug",
        "LOG_FORMAT": "json",
        "KUBECONFIG": __file__,
        "CONTEXT": "staging",
    }
    settings = load({PREFIX + name: value for name, value in given.items()})
    assert {name.lower() for name in given} == set(Settings.__struct_fields__)
    assert all(
        getattr(settings, name) != getattr(Settings(), name) for name in Settings.__struct_fields__
    )
    assert settings.resources == ("amd.com/gpu", "nvidia.com/mig-*")
    assert settings.rules.domain == "triage.example.com"
    assert settings.banner().startswith(
        "resources=amd.com/gpu,nvidia.com/mig-* node_labels=amd.com/gpu.*"
    )
    assert "publish_gated=true publish_holders=none settle_seconds=0.5" in settings.banner()


def test_an_empty_value_is_the_default():
    assert load({"GPU_TRIAGE_FIT_SECONDS": "", "GPU_TRIAGE_RESOURCES": " "}) == Settings()


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("RESOURCES", "*", "the pattern * matches cpu, which is no GPU; "),
        ("RESOURCES", "nvidia.com/gpu,mem*", "the pattern mem* matches memory, which is no GPU; "),
        ("RESOURCES", "gpu", "the pattern gpu has no domain; GPUs are named like nvidia.com/gpu"),
        ("RESOURCES", "a b=c", "'b=c' is no name or pattern; separate several by commas"),
        ("RESOURCES", ",", "holds no name; unset it for the default"),
        ("DRA", "perhaps", "choose one of auto, on, off"),
        ("ANNOTATION_DOMAIN", "Triage", "is no DNS name in lower case, such as gpu-triage.io"),
        ("ANNOTATION_DOMAIN", "x.kubernetes.io", "kubernetes.io and k8s.io are reserved; "),
        ("STALE_SECONDS", "1", "give a number of seconds from 3 to 3600"),
        ("PUBLISH_GATED", "si", "choose true or false"),
        ("WRITES_PER_SECOND", "5.5", "give a whole number from 1 to 500"),
        ("WRITE_BURST", "0", "give a whole number from 1 to 1000"),
        ("OLD_ANNOTATION_DOMAINS", "old.io, Bad", "is no DNS name in lower case, such as gpu-"),
        ("FIT_SECONDS", "-1", "give a number of seconds from 0 to 3600"),
        ("FIT_SECONDS", "nan", "give a number of seconds from 0 to 3600"),
        ("FIT_SECONDS", "30s", "give a number of seconds from 0 to 3600"),
        ("EVENT_SERIES_SECONDS", "3600", "give a number of seconds from 60 to 3000"),
        ("LEASE", "gpu-triage", "give NAMESPACE/NAME of a Lease, such as gpu-triage/gpu-triage"),
        ("LEASE", "a/b/c", "give NAMESPACE/NAME of a Lease, such as gpu-triage/gpu-triage"),
        ("LEASE", "x/Triage", "give NAMESPACE/NAME of a Lease, such as gpu-triage/gpu-triage"),
        ("LEASE_SECONDS", "1", "give a number of seconds from 5 to 300"),
        ("HTTP_ADDRESS", "8080", "give HOST:PORT, such as 0.0.0.0:8080 or [::]:8080"),
        ("HTTP_ADDRESS", "localhost:99999", "give HOST:PORT, such as 0.0.0.0:8080 or [::]:8080"),
        ("LOG_LEVEL", "loud", "choose one of debug, info, warning, error"),
        ("KUBECONFIG", "/no/such/file", "there is no such file; give the path of a kubeconfig"),
    ],
)
def test_a_value_that_cannot_be_used_is_one_line(name, value, problem):
    (line,) = problems(**{name: value})
    assert line.startswith(f"GPU_TRIAGE_{name}={value}: {problem}")
    assert "\n" not in line


def test_an_unknown_name_is_an_error_that_names_the_nearest():
    assert problems(FIT_SECOND="3") == [
        "GPU_TRIAGE_FIT_SECOND: there is no such setting; did you mean GPU_TRIAGE_FIT_SECONDS?"
    ]


def test_all_problems_are_told_at_once():
    assert len(problems(FIT_SECONDS="x", DRA="x", NOPE="x")) == 3


@pytest.mark.parametrize(
    "name",
    [
        "SERVICE_HOST",
        "SERVICE_PORT",
        "SERVICE_PORT_HTTP",
        "PORT",
        "PORT_8080_TCP",
        "PORT_8080_TCP_ADDR",
        "PORT_8080_TCP_PORT",
        "PORT_8080_TCP_PROTO",
        "METRICS_SERVICE_HOST",
        "METRICS_PORT_9090_TCP",
        "CACHE",
    ],
)
def test_what_kubernetes_and_the_tests_put_there_is_passed_over(name):
    assert load({PREFIX + name: "tcp://10.0.0.1:8080"}) == Settings()


def test_no_setting_looks_like_what_kubernetes_puts_there():
    for name in Settings.__struct_fields__:
        assert not name.upper().endswith(("_PORT", "_HOST", "PORT", "HOST"))
        with pytest.raises(SettingsError):
            load({f"{PREFIX}{name.upper()}_X": "1"})
