"""The chart's values: every setting is one, and what cannot work is refused with a sentence."""

import json
import re

import pytest
import yaml

from gpu_triage.settings import _READ, PREFIX, Settings, SettingsError, load
from tests.chart.helm import CHART, HelmError, environment

VALUES = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
GIVEN = yaml.safe_load(VALUES)["settings"]
PROPERTIES = SCHEMA["properties"]["settings"]["properties"]
DEPLOYMENT = ("Deployment", "gpu-triage")


def camel(field):
    first, *rest = field.split("_")
    return first + "".join(word.capitalize() for word in rest)


def test_every_setting_is_a_value_with_its_default_and_a_comment():
    defaults = Settings()
    fields = Settings.__struct_fields__
    assert set(GIVEN) == {camel(field) for field in fields}, (
        "deploy/helm/values.yaml lacks a setting or has one too many"
    )
    for field in fields:
        value = GIVEN[camel(field)]
        default = getattr(defaults, field)
        assert value == (list(default) if isinstance(default, tuple) else default), field
        assert re.search(rf"^(  # .*\n)+  {camel(field)}:", VALUES, re.MULTILINE), (
            f"{camel(field)} has no comment in values.yaml"
        )


def test_the_schema_knows_every_setting():
    assert set(PROPERTIES) == set(GIVEN), (
        "deploy/helm/values.schema.json lacks a setting or has one too many"
    )


def test_as_it_ships_the_operator_gets_its_own_defaults(helm):
    given = environment(helm.render()[DEPLOYMENT])
    assert given.pop("LOGNAME") == "gpu-triage"
    assert load(given) == Settings()


def test_every_setting_reaches_the_operator(helm):
    """What is empty in the values is not passed on: there is nothing to read."""
    given = environment(helm.render()[DEPLOYMENT])
    full = {name for name, value in GIVEN.items() if value not in ("", [])}
    assert set(given) == {"LOGNAME"} | {
        PREFIX + field.upper() for field in Settings.__struct_fields__ if camel(field) in full
    }
    changed = {
        "resources": ["amd.com/gpu", "nvidia.com/mig-*"],
        "nodeStartingSeconds": 1.5,
        "lean": False,
        "publishGated": True,
        "messageRefreshSeconds": 86400,
        "kubeconfig": __file__,
        "httpAddress": "[::]:9090",
    }
    deployment = helm.render({"settings": changed})[DEPLOYMENT]
    settings = load(environment(deployment))
    assert settings.resources == ("amd.com/gpu", "nvidia.com/mig-*")
    assert (settings.node_starting_seconds, settings.message_refresh_seconds) == (1.5, 86400)
    assert (settings.lean, settings.publish_gated) == (False, True)
    assert settings.kubeconfig == __file__
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["ports"] == [{"name": "http", "containerPort": 9090}]


def reads(name, value):
    """Whether the operator takes a value of a setting."""
    try:
        load({PREFIX + name.upper(): str(value).lower()})
    except SettingsError:
        return False
    return True


@pytest.mark.parametrize("field", Settings.__struct_fields__)
def test_the_schema_draws_the_operators_limits(field):
    rule = PROPERTIES[camel(field)]
    if rule.get("type") in ("number", "integer"):
        lowest, highest = rule["minimum"], rule["maximum"]
        assert reads(field, lowest)
        assert reads(field, highest)
        assert not reads(field, lowest - 1)
        assert not reads(field, highest + 1)
    elif "enum" in rule:
        assert all(reads(field, word) for word in rule["enum"])
        with pytest.raises(ValueError, match="choose one of ") as refusal:
            _READ[field]("nonsense")
        assert str(refusal.value) == f"choose one of {', '.join(rule['enum'])}"
    elif rule.get("type") == "boolean":
        assert not reads(field, "nonsense")
    else:
        assert rule["type"] in ("string", "array")


BAD = {
    "no image": ({"image": {"repository": ""}}, "at '/image/repository': minLength: got 0, want 1"),
    "a typo": ({"imge": {}}, "additional properties 'imge' not allowed"),
    "a typo in a setting": (
        {"settings": {"fitSecond": 5}},
        "at '/settings': additional properties 'fitSecond' not allowed",
    ),
    "a word for a number": (
        {"settings": {"fitSeconds": "soon"}},
        "at '/settings/fitSeconds': got string, want number",
    ),
    "a number out of bounds": (
        {"settings": {"staleSeconds": 1}},
        "at '/settings/staleSeconds': minimum: got 1, want 3",
    ),
    "a pattern that matches cpu": (
        {"settings": {"resources": ["*"]}},
        "at '/settings/resources/0': '*' does not match pattern",
    ),
    "no pattern": (
        {"settings": {"resources": []}},
        "at '/settings/resources': minItems: got 0, want 1",
    ),
    "a domain that is no DNS name": (
        {"settings": {"annotationDomain": "GPU_triage"}},
        "at '/settings/annotationDomain': 'GPU_triage' does not match pattern",
    ),
    "a domain of Kubernetes": (
        {"settings": {"annotationDomain": "gpu.k8s.io"}},
        "gpu.k8s.io is reserved by Kubernetes; use a domain of your own",
    ),
    "another word": (
        {"settings": {"dra": "maybe"}},
        "at '/settings/dra': value must be one of 'auto', 'on', 'off'",
    ),
    "three replicas": ({"replicas": 3}, "at '/replicas': maximum: got 3, want 2"),
    "half a digest": (
        {"image": {"digest": "sha256:12"}},
        "at '/image/digest': 'sha256:12' does not match pattern",
    ),
    "an account without a name": (
        {"serviceAccount": {"create": False}},
        "serviceAccount.create is false: name the account that is there in serviceAccount.name",
    ),
}


@pytest.mark.parametrize(("values", "message"), BAD.values(), ids=BAD)
def test_what_cannot_work_is_refused(helm, values, message):
    with pytest.raises(HelmError) as refusal:
        helm.render(values)
    assert message in str(refusal.value)


def test_without_a_repository_the_schema_asks_for_one(helm):
    with pytest.raises(HelmError, match="at '/image': missing property 'repository'"):
        helm.run("template", "gpu-triage", str(CHART))


def test_a_cluster_before_1_30_is_refused(helm):
    with pytest.raises(HelmError, match=r"requires kubeVersion: >=1\.30\.0-0 .* v1\.29\.9"):
        helm.render(None, "--kube-version=1.29.9")
    assert helm.render(None, "--kube-version=v1.30.0-eks-1234567") == helm.render()
