"""The operator's settings: environment variables ``GPU_TRIAGE_*``, read and checked once.

The variable of a setting is its name in capitals after the prefix: ``GPU_TRIAGE_FIT_SECONDS``.
Lists are separated by commas or spaces.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gpu_triage import setting_values as values
from gpu_triage.cluster.settling import Pace
from gpu_triage.core.rules import Rules
from gpu_triage.publish.terms import Terms

PREFIX = "GPU_TRIAGE_"

_DEFAULTS = Rules()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All that can be set of the operator."""

    resources: tuple[str, ...] = _DEFAULTS.resources
    """Patterns of the extended resource names that are GPUs."""
    node_labels: tuple[str, ...] = _DEFAULTS.node_labels
    """Patterns of the label keys by which a node is known to have GPUs."""
    startup_taints: tuple[str, ...] = _DEFAULTS.startup_taints
    """Patterns of the taint keys that a node carries while it starts."""
    kube_schedulers: tuple[str, ...] = _DEFAULTS.kube_schedulers
    """Scheduler names that are profiles of one kube-scheduler."""
    node_starting_seconds: float = _DEFAULTS.node_starting_seconds
    """How long a young node counts as starting, in seconds."""
    dra: str = "auto"
    """DeviceClasses: ``auto`` reads them where it may, ``on`` insists, ``off`` never asks."""
    annotation_domain: str = _DEFAULTS.domain
    """Prefix of the annotation keys, a DNS name. The admission policy must name the same."""
    old_annotation_domains: tuple[str, ...] = ()
    """Former prefixes of the annotation keys: what stands under them is removed. The admission
    policy must name them too."""
    lean: bool = True
    """Whether pods that mention no GPU are dropped unparsed. Off, every pod goes through kopf: the
    operator needs several times the time and memory, and says the same."""
    stale_seconds: float = 150
    """How long the API server may say nothing about a kind before nothing is written any more, in
    seconds. It sends a sign of life about every minute."""
    publish_gated: bool = False
    """Whether pods that a scheduling gate holds are annotated: queues keep thousands of them."""
    publish_holders: str = "own"
    """Which pods a message names as holding the GPUs: ``own``, those of the waiting pod's
    namespace; ``all``; ``none``. The others are counted."""
    settle_seconds: float = 2
    """How long a pod waits before its first word is published, and how long another word or detail
    must last before it is, in seconds."""
    fit_seconds: float = 30
    """How long a pod must fit without a break before the word is ``not-gpu``, and how long a full
    cluster must look fragmented or broken before there is a Warning of it, in seconds."""
    autoscaling: bool = _DEFAULTS.autoscaling
    """Whether an autoscaler makes nodes for pods that wait: then "no such node" is no mistake."""
    autoscaling_settle_seconds: float = 30
    """With ``autoscaling``: how long a pod waits before its first word is published where a new
    node may be on its way, in seconds. Autoscalers look about every 10 s."""
    read_events: bool = False
    """Whether Events are read for what an autoscaler says of pods that wait. It needs the right to
    list and watch events in the core group, of all namespaces."""
    scaling_up_seconds: float = _DEFAULTS.scaling_up_seconds
    """How long a pod counts as taken on by an autoscaler after that said so, in seconds."""
    restless_seconds: float = 60
    """How long a word or detail must last before it is published of a pod that has changed three
    times in ``quiet_seconds``, in seconds."""
    quiet_seconds: float = 600
    """After how many seconds without a stir a pod counts as quiet again."""
    message_refresh_seconds: float = 600
    """How often at most the message changes while the word stays, in seconds."""
    event_series_seconds: float = 1800
    """How often an Event is renewed while its word stays, in seconds; the API server forgets Events
    an hour after their last change."""
    event_gap_seconds: float = 300
    """How long after a new Event a pod gets no other one, in seconds; a Warning after a Normal one
    comes at once."""
    event_pods: int = 20
    """How many pods of one owner (a Job, a Deployment) get Events for one word: the oldest."""
    refreshes_per_second: int = 5
    """How many messages a second may be written in which numbers alone have changed."""
    writes_per_second: int = 50
    """How many requests a second may change something, all kinds together."""
    write_burst: int = 100
    """How many of them may come at once after a time without any."""
    lease: str = ""
    """NAMESPACE/NAME of the Lease by which replicas agree which one of them writes. Empty where
    there is only one: it writes without asking."""
    lease_seconds: float = 10
    """How long a leader that says nothing more is waited for, in seconds. It renews the Lease every
    fifth of that, and stops writing after six tenths."""
    pod_cause_info: bool = True
    """Whether every waiting pod has a row of its own in the metrics. Above 1,000 pods there is none
    in any case, and the log says so."""
    http_address: str = "0.0.0.0:8080"
    """HOST:PORT of /healthz, /readyz and /metrics; port 0 takes a free one, which the log names."""
    log_level: str = "info"
    """``debug``, ``info``, ``warning`` or ``error``."""
    log_format: str = "text"
    """``text`` or ``json``."""
    kubeconfig: str = ""
    """Paths of kubeconfig files, separated by colons; else KUBECONFIG, else the pod's
    ServiceAccount, else ~/.kube/config."""
    context: str = ""
    """The kubeconfig's context; else the current one."""

    @property
    def rules(self) -> Rules:
        """The settings that the classifier takes."""
        return Rules(
            resources=self.resources,
            node_labels=self.node_labels,
            startup_taints=self.startup_taints,
            kube_schedulers=self.kube_schedulers,
            autoscaling=self.autoscaling,
            domain=self.annotation_domain,
            old_domains=self.old_annotation_domains,
            name_holders=self.publish_holders,
            scaling_up_seconds=self.scaling_up_seconds,
            node_starting_seconds=self.node_starting_seconds,
        )

    @property
    def pace(self) -> Pace:
        """The settings that say how long words must last."""
        grows = self.autoscaling_settle_seconds if self.autoscaling else 0.0
        return Pace(
            settle=self.settle_seconds,
            scalable=max(self.settle_seconds, grows),
            fit=self.fit_seconds,
            restless=self.restless_seconds,
            quiet=self.quiet_seconds,
            refresh=self.message_refresh_seconds,
        )

    @property
    def terms(self) -> Terms:
        """The settings that say how much is written."""
        return Terms(
            domain=self.annotation_domain,
            old_domains=self.old_annotation_domains,
            rate=self.writes_per_second,
            burst=self.write_burst,
            refreshes=self.refreshes_per_second,
            refresh=self.message_refresh_seconds,
            event_period=self.event_series_seconds,
            event_gap=self.event_gap_seconds,
            alarm=self.fit_seconds,
            event_pods=self.event_pods,
        )

    def banner(self) -> str:
        """Every setting as ``name=value``, in one line."""
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        return " ".join(f"{name}={_shown(value)}" for name, value in shown.items())


class SettingsError(ValueError):
    """Settings that cannot be used; ``problems`` holds one line for each."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def load(environ: Mapping[str, str]) -> Settings:
    """The settings that an environment gives.

    Raises:
        SettingsError: with every problem there is, not only the first.
    """
    given = {
        name: environ[name]
        for name in sorted(environ)
        if name.startswith(PREFIX) and not _IGNORED.fullmatch(name)
    }
    problems = []
    chosen: dict[str, Any] = {}
    for name, text in given.items():
        field = name.removeprefix(PREFIX).lower()
        if field not in _READ:
            problems.append(_unknown(name))
        elif text.strip():
            try:
                chosen[field] = _READ[field](text.strip())
            except ValueError as error:
                problems.append(f"{name}={text}: {error}")
    if problems:
        raise SettingsError(problems)
    return Settings(**chosen)


# Kubernetes writes variables for every Service into every pod of its namespace: one that is named
# gpu-triage makes GPU_TRIAGE_PORT=tcp://… of its name. No setting may look like one of them.
# GPU_TRIAGE_CACHE belongs to the tests' control plane.
_IGNORED = re.compile(
    rf"{PREFIX}(?:CACHE|(?:\w+_)?(?:SERVICE_HOST|SERVICE_PORT(?:_\w+)?|PORT"
    r"(?:_\d+_(?:TCP|UDP|SCTP)(?:_(?:ADDR|PORT|PROTO))?)?))"
)


def _unknown(name: str) -> str:
    valid = [PREFIX + field.upper() for field in _READ]
    near = difflib.get_close_matches(name, valid, n=1, cutoff=0)[0]
    return f"{name}: there is no such setting; did you mean {near}?"


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float | int) else str(value) or '""'


_READ: dict[str, Callable[[str], Any]] = {
    "resources": values.resources,
    "node_labels": values.listed,
    "startup_taints": values.listed,
    "kube_schedulers": values.listed,
    "node_starting_seconds": values.seconds(0, 86400),
    "dra": values.one_of("auto", "on", "off"),
    "annotation_domain": values.domain,
    "old_annotation_domains": values.domains,
    "lean": values.switch,
    "stale_seconds": values.seconds(3, 3600),
    "publish_gated": values.switch,
    "publish_holders": values.one_of("own", "all", "none"),
    "settle_seconds": values.seconds(0, 3600),
    "fit_seconds": values.seconds(0, 3600),
    "autoscaling": values.switch,
    "autoscaling_settle_seconds": values.seconds(0, 3600),
    "read_events": values.switch,
    "scaling_up_seconds": values.seconds(0, 86400),
    "restless_seconds": values.seconds(0, 3600),
    "quiet_seconds": values.seconds(1, 86400),
    "message_refresh_seconds": values.seconds(1, 86400),
    "event_series_seconds": values.seconds(60, 3000),
    "event_gap_seconds": values.seconds(0, 86400),
    "event_pods": values.number(0, 10000),
    "refreshes_per_second": values.number(1, 500),
    "writes_per_second": values.number(1, 500),
    "write_burst": values.number(1, 1000),
    "lease": values.lease,
    "lease_seconds": values.seconds(5, 300),
    "pod_cause_info": values.switch,
    "http_address": values.address,
    "log_level": values.one_of("debug", "info", "warning", "error"),
    "log_format": values.one_of("text", "json"),
    "kubeconfig": values.paths,
    "context": str,
}
