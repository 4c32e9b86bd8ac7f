"""What the chart installs, and what each value changes."""

import difflib

import pytest
import yaml

from gpu_triage import __version__
from tests.chart.helm import CHART, Helm, environment, weight

NAME = "gpu-triage"
DEFAULT = {
    ("ServiceAccount", NAME),
    ("ClusterRole", NAME),
    ("ClusterRoleBinding", NAME),
    ("Service", NAME),
    ("Deployment", NAME),
    ("ValidatingAdmissionPolicy", f"{NAME}-pods"),
    ("ValidatingAdmissionPolicyBinding", f"{NAME}-pods"),
    ("ValidatingAdmissionPolicy", f"{NAME}-events"),
    ("ValidatingAdmissionPolicyBinding", f"{NAME}-events"),
}
POLICIES = {each for each in DEFAULT if each[0].startswith("Validating")}
CLUSTER_WIDE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}
EVERYTHING = {
    "replicas": 2,
    "serviceMonitor": {"enabled": True},
    "prometheusRule": {"enabled": True},
    "dashboard": {"enabled": True},
    "networkPolicy": {"enabled": True},
}


def pod_of(owner):
    return owner["spec"]["template"]["spec"]


def test_the_chart_lints_with_everything_on(helm):
    told = helm.run(
        "lint", "--strict", str(CHART), values={"image": {"repository": "x"}, **EVERYTHING}
    )
    assert "1 chart(s) linted, 0 chart(s) failed" in told
    assert "WARNING" not in told


def test_the_chart_has_the_packages_version(helm):
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_it_installs_so_much(helm):
    assert set(helm.render()) == DEFAULT


@pytest.mark.parametrize(
    ("values", "more", "less"),
    [
        ({"admissionPolicy": {"enabled": False}}, set(), POLICIES),
        ({"serviceAccount": {"create": False, "name": "own"}}, set(), {("ServiceAccount", NAME)}),
        (
            {"rbac": {"create": False}},
            set(),
            {("ClusterRole", NAME), ("ClusterRoleBinding", NAME)},
        ),
        (
            {"replicas": 2},
            {(kind, NAME) for kind in ("Lease", "Role", "RoleBinding", "PodDisruptionBudget")},
            set(),
        ),
        (
            {"replicas": 2, "rbac": {"create": False}},
            {("Lease", NAME), ("PodDisruptionBudget", NAME)},
            {("ClusterRole", NAME), ("ClusterRoleBinding", NAME)},
        ),
        ({"serviceMonitor": {"enabled": True}}, {("ServiceMonitor", NAME)}, set()),
        ({"prometheusRule": {"enabled": True}}, {("PrometheusRule", NAME)}, set()),
        ({"dashboard": {"enabled": True}}, {("ConfigMap", f"{NAME}-dashboard")}, set()),
        ({"networkPolicy": {"enabled": True}}, {("NetworkPolicy", NAME)}, set()),
    ],
)
def test_a_switch_adds_or_removes_its_objects_and_no_others(helm, values, more, less):
    assert set(helm.render(values)) == DEFAULT - less | more


def test_rendering_twice_gives_the_same_bytes(helm):
    render = ("template", NAME, str(CHART), "-n", NAME, "--set=image.repository=x")
    first, second = (helm.run(*render, values=EVERYTHING) for _ in range(2))
    assert first == second


def test_nothing_rendered_is_null_and_every_object_says_where_it_lives(helm):
    for (kind, name), item in {**helm.render(EVERYTHING), **helm.hooks()}.items():
        assert list(nulls(item)) == [], f"{kind} {name}"
        assert ("namespace" in item["metadata"]) == (kind not in CLUSTER_WIDE), f"{kind} {name}"


def nulls(value, path=""):
    if value is None:
        yield path
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from nulls(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from nulls(inner, f"{path}/{number}")


CHANGES = {
    "a setting": (
        {"settings": {"fitSeconds": 60}},
        ['- value: "30"', '+ value: "60"'],
    ),
    "the image": (
        {"image": {"tag": "1.2.3"}},
        [
            f'- image: "registry.example.com/gpu-triage:{__version__}"',
            '+ image: "registry.example.com/gpu-triage:1.2.3"',
        ],
    ),
    "a digest": (
        {"image": {"tag": "1.2.3", "digest": f"sha256:{'0' * 64}"}},
        [
            f'- image: "registry.example.com/gpu-triage:{__version__}"',
            f'+ image: "registry.example.com/gpu-triage@sha256:{"0" * 64}"',
        ],
    ),
    "the port of the Service": ({"service": {"port": 80}}, ["- port: 8080", "+ port: 80"]),
    "the memory": (
        {"resources": {"limits": {"memory": "1Gi"}}},
        ["- memory: 384Mi", "+ memory: 1Gi"],
    ),
    "a node to run on": (
        {"nodeSelector": {"pool": "system"}},
        ["+ nodeSelector:", "+ pool: system"],
    ),
}


@pytest.mark.parametrize(("values", "lines"), CHANGES.values(), ids=CHANGES)
def test_a_value_changes_what_it_should_and_nothing_else(helm, values, lines):
    before = helm.text(None, "--no-hooks").splitlines()
    after = helm.text(values, "--no-hooks").splitlines()
    changed = [
        f"{line[0]} {line[1:].strip()}"
        for line in difflib.unified_diff(before, after, n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    assert changed == lines


def test_without_device_classes_there_is_no_right_to_them(helm):
    before = helm.render()["ClusterRole", NAME]["rules"]
    after = helm.render({"settings": {"dra": "off"}})["ClusterRole", NAME]["rules"]
    assert [rule for rule in before if rule not in after] == [
        {
            "apiGroups": ["resource.k8s.io"],
            "resources": ["deviceclasses"],
            "verbs": ["list", "watch"],
        }
    ]


def test_another_domain_changes_the_setting_and_the_policy_alike(helm):
    found = helm.render({"settings": {"annotationDomain": "triage.example.com"}})
    assert environment(found["Deployment", NAME])["GPU_TRIAGE_ANNOTATION_DOMAIN"] == (
        "triage.example.com"
    )
    variables = found["ValidatingAdmissionPolicy", f"{NAME}-pods"]["spec"]["variables"]
    (own,) = (each["expression"] for each in variables if each["name"] == "own")
    keys = ("cause", "detail", "message", "since")
    assert own == "[" + ", ".join(f"'triage.example.com/{key}'" for key in keys) + "]"


def test_the_policy_names_the_account_that_the_pod_runs_as(helm):
    values = {"serviceAccount": {"name": "other"}}
    found = helm.render(values, name="main", namespace="monitoring")
    deployment = found["Deployment", "main-gpu-triage"]
    assert pod_of(deployment)["serviceAccountName"] == "other"
    for kind in ("pods", "events"):
        spec = found["ValidatingAdmissionPolicy", f"main-gpu-triage-{kind}"]["spec"]
        (condition,) = spec["matchConditions"]
        assert condition["expression"] == (
            "request.userInfo.username == 'system:serviceaccount:monitoring:other'"
        )
        binding = found["ValidatingAdmissionPolicyBinding", f"main-gpu-triage-{kind}"]["spec"]
        assert binding["policyName"] == f"main-gpu-triage-{kind}"
    (subject,) = found["ClusterRoleBinding", "main-gpu-triage"]["subjects"]
    assert subject == {"kind": "ServiceAccount", "name": "other", "namespace": "monitoring"}


def test_one_replica_is_replaced_and_two_are_rolled_and_share_a_lease(helm):
    one = helm.render()["Deployment", NAME]["spec"]
    assert (one["replicas"], one["strategy"]) == (1, {"type": "Recreate"})
    found = helm.render({"replicas": 2})
    two = found["Deployment", NAME]["spec"]
    assert (two["replicas"], two["strategy"]["type"]) == (2, "RollingUpdate")
    assert environment(found["Deployment", NAME])["GPU_TRIAGE_LEASE"] == "gpu-triage/gpu-triage"
    role = found["Role", NAME]
    assert role["metadata"]["namespace"] == "gpu-triage"
    (rule,) = role["rules"]
    assert (rule["resources"], rule["resourceNames"]) == (["leases"], [NAME])
    term = pod_of(found["Deployment", NAME])["affinity"]["podAntiAffinity"]
    (spread,) = term["preferredDuringSchedulingIgnoredDuringExecution"]
    assert spread["podAffinityTerm"]["labelSelector"] == two["selector"]
    assert found["PodDisruptionBudget", NAME]["spec"]["selector"] == two["selector"]


def test_a_new_version_never_changes_what_a_deployment_selects(helm):
    selector = helm.render()["Deployment", NAME]["spec"]["selector"]["matchLabels"]
    assert set(selector) == {"app.kubernetes.io/name", "app.kubernetes.io/instance"}


def test_the_scrape_keeps_the_labels_of_the_waiting_pods(helm):
    values = {"serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}}}
    monitor = helm.render(values)["ServiceMonitor", NAME]
    assert monitor["spec"]["endpoints"] == [{"port": "http", "honorLabels": True}]
    assert monitor["metadata"]["labels"]["release"] == "prometheus"


def test_uninstalling_brings_its_own_account_policy_first_and_takes_all_of_it_away(helm):
    hooks = helm.hooks()
    assert [kind for kind, _ in hooks] == [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Job",
    ]
    for hook in hooks.values():
        notes = hook["metadata"]["annotations"]
        assert notes["helm.sh/hook"] == "post-delete"
        assert notes["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    weights = [weight(hook) for hook in hooks.values()]
    assert weights == sorted(weights)
    assert weights[1] < weights[2]

    job = hooks["Job", f"{NAME}-cleanup"]
    (rule, binding) = (hooks["ClusterRole", f"{NAME}-cleanup"]["rules"], pod_of(job))
    assert [(each["resources"], each["verbs"]) for each in rule] == [
        (["pods"], ["list"]),
        (["pods/status"], ["patch"]),
    ]
    assert binding["serviceAccountName"] == f"{NAME}-cleanup"
    operator = helm.render()
    policy = operator["ValidatingAdmissionPolicy", f"{NAME}-pods"]["spec"]
    held = hooks["ValidatingAdmissionPolicy", f"{NAME}-cleanup"]["spec"]
    assert held["matchConditions"][0].pop("expression").endswith(":gpu-triage:gpu-triage-cleanup'")
    policy["matchConditions"][0].pop("expression")
    assert held == policy
    selector = operator["Deployment", NAME]["spec"]["selector"]["matchLabels"]
    assert not selector.items() <= job["spec"]["template"]["metadata"]["labels"].items()
    (container,) = binding["containers"]
    chosen = ",".join(f"{key}={value}" for key, value in sorted(selector.items(), reverse=True))
    assert container["args"] == ["--cleanup", f"--after=gpu-triage/{chosen}"]
    assert environment(job) == environment(operator["Deployment", NAME])


@pytest.mark.parametrize("values", [{"cleanup": {"enabled": False}}, {"rbac": {"create": False}}])
def test_the_cleanup_can_be_left_out(helm, values):
    assert helm.hooks(values) == {}


@pytest.mark.parametrize("owner", ["Deployment", "Job"])
def test_a_pod_asks_for_nothing_that_it_does_not_need(helm, owner):
    (found,) = (
        each for (kind, _), each in {**helm.render(), **helm.hooks()}.items() if kind == owner
    )
    pod = pod_of(found)
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert pod["enableServiceLinks"] is False
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"memory": "384Mi"}
    assert "volumes" not in pod


def test_no_template_asks_what_the_cluster_can_do():
    """It would leave the policy out wherever a chart is rendered without a cluster."""
    for template in (CHART / "templates").iterdir():
        assert ".Capabilities" not in template.read_text(), template.name


def notes(helm: Helm, **values):
    text = helm.run(
        *("install", NAME, str(CHART), "-n", NAME, "--dry-run=client"),
        values={"image": {"repository": "x"}, **values},
    )
    return text.partition("NOTES:\n")[2]


def test_the_notes_give_two_commands_and_warn_where_the_policy_is_off(helm):
    told = notes(helm)
    assert told.count("\n  kubectl ") == 3
    assert ".metadata.annotations.gpu-triage\\.io/cause" in told
    assert "WARNING" not in told
    assert "WARNING: admissionPolicy.enabled is false." in notes(
        helm, admissionPolicy={"enabled": False}
    )
    assert "rbac.create is false" in notes(helm, rbac={"create": False})
