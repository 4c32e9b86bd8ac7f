"""Answers from a live cluster, reading no more than they need."""

from collections.abc import Callable, Collection, Iterator

import msgspec

from gpu_triage.cli.connection import Api, RefusedError, path
from gpu_triage.cli.failure import AnswerError
from gpu_triage.cli.lists import Progress, pages, silent
from gpu_triage.cli.need import certain_fit, in_question, in_sentence
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core import objects
from gpu_triage.core.causes import DEVICE_CLASSES, NODES, PODS, Cause, Detail
from gpu_triage.core.classify import classify
from gpu_triage.core.mention import tokens
from gpu_triage.core.node_facts import node_facts
from gpu_triage.core.pod_facts import PodFacts, pod_facts
from gpu_triage.core.rules import Rules
from gpu_triage.core.survey import Verdict
from gpu_triage.core.vocabulary import VOCABULARY

FEW = 50
"""Up to so many nodes the pods of each are read by an index; beyond, all pods in pages."""
_HOLDING = "status.phase!=Succeeded,status.phase!=Failed"
_DRA = ("apis", "resource.k8s.io", "v1")


class Live:
    """One answer's view of a cluster: filled as far as the answer needs it."""

    def __init__(
        self,
        api: Api,
        rules: Rules,
        *,
        dra: str = "auto",
        explain: bool = True,
        progress: Progress = silent,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Starts with nothing read.

        Args:
            api: the API server.
            rules: what counts as a GPU.
            dra: ``auto``: DeviceClasses that may not be read count as absent; ``on``: words that
                rest on them are then unknown; ``off``: they are not asked for.
            explain: whether detail and message are wanted, or only the word.
            progress: see lists.pages.
            note: takes one line for the person who asks, such as a right that is missing.
        """
        self.inventory = Inventory(rules)
        self.dra_unread = False
        """DeviceClasses may not be read and were taken as absent."""
        self.read: set[str] | None = set()
        """The nodes whose pods were read; None for all."""
        self._api = api
        self._rules = rules
        self._dra = dra
        self._explain = explain
        self._progress = progress
        self._note = note

    def find(self, namespace: str, name: str) -> PodFacts | None:
        """The pod, or None where there is none.

        Raises:
            AnswerError: pods of that namespace may be neither got nor listed.
        """
        try:
            body = self._api.get(path("api", "v1", "namespaces", namespace, "pods", name))
            return self._facts(msgspec.json.decode(body, type=objects.Pod))
        except msgspec.DecodeError as error:
            raise AnswerError(f"pod {namespace}/{name}: it cannot be read: {error}.") from None
        except RefusedError as refusal:
            if refusal.status == 404:
                return None
        selector = f"metadata.name={name}"
        return next(self._pods_in(namespace, selector), None)

    def judge(self, pod: PodFacts, now: float) -> Verdict:
        """The verdict for one pod; it equals the one that reading everything would give."""
        inventory, picture = self.inventory, self.inventory.picture
        inventory.put_pod(pod)
        inventory.mark_unread(NODES, Detail.NOT_SYNCED)
        verdict = classify(pod, picture, now)
        if verdict.cause is not Cause.UNKNOWN:
            return verdict
        if self.read_nodes():
            verdict = classify(pod, picture, now)
            # The next step of an earlier word may lead to a node that DRA serves.
            if self._explain or DEVICE_CLASSES in VOCABULARY[verdict.cause].rests_on:
                self.read_classes()
                if picture.classes or DEVICE_CLASSES in picture.unread:
                    verdict = classify(pod, picture, now)
            self._read_pods_for(verdict, now)
        return classify(pod, picture, now)

    def read_nodes(self) -> bool:
        """Reads all nodes; False where that is forbidden."""
        try:
            for node in self._list(objects.Node, "api", "v1", "nodes"):
                self.inventory.put_node(node_facts(node, self._rules))
        except RefusedError as refusal:
            self._missing(refusal, NODES, "words that rest on nodes are unknown")
            return False
        self.inventory.mark_read(NODES)
        return True

    def read_classes(self) -> None:
        """Reads DeviceClasses, where the cluster has them and the setting asks for them."""
        if self._dra == "off":
            return
        try:
            for each in self._list(objects.DeviceClass, *_DRA, "deviceclasses"):
                served = each.spec.extended_resource_name if each.spec is not None else None
                self.inventory.put_class(each.metadata.name, served or "")
        except RefusedError as refusal:
            if refusal.status == 404 or not self._serves_dra():
                return
            if self._dra == "on":
                self._missing(refusal, DEVICE_CLASSES, "words that rest on them are unknown")
            else:
                self.dra_unread = True
                self._note(
                    "may not list deviceclasses.resource.k8s.io (cluster-wide): taken as absent."
                    " Where Dynamic Resource Allocation serves GPUs, use --dra on."
                )

    def read_pods(self, namespace: str | None, *, ended: bool) -> None:
        """Reads all pods; where that is forbidden, those of the namespace, if one is given.

        Args:
            namespace: the one that is asked about, if it is one.
            ended: whether those that have ended are wanted too.
        """
        selector = "" if ended else _HOLDING
        try:
            self._read_every_pod(selector, without_gpus=ended)
        except RefusedError as refusal:
            self._missing(refusal, PODS, "what is free on nodes is not known")
            if namespace is not None:
                for pod in self._pods_in(namespace, selector):
                    self.inventory.put_pod(pod)

    def exists(self, namespace: str) -> bool:
        """Whether a namespace exists, as far as may be known: True if that is forbidden."""
        try:
            self._api.get(path("api", "v1", "namespaces", namespace))
        except RefusedError as refusal:
            return refusal.status != 404
        return True

    def _read_pods_for(self, verdict: Verdict, now: float) -> None:
        """Reads the pods that hold what the answer hangs on."""
        names = in_question(verdict, now, explain=self._explain)
        told = sorted({*names, *in_sentence(verdict)}) if self._explain else names
        if len(told) <= FEW:
            names = told
        elif told != names:
            # The word stands; its sentence then says what there is, not what is free.
            self.inventory.mark_unread(PODS, Detail.NOT_SYNCED)
        if not names:
            return
        try:
            if len(names) > FEW:
                self._read_every_pod(_HOLDING)
                return
            self._put_pods("spec.nodeName=,status.nominatedNodeName!=")
            for name in names:
                self._put_pods(f"spec.nodeName={name},{_HOLDING}")
                if self.read is not None:
                    self.read.add(name)
                if not self._explain and certain_fit(verdict.pod, self.inventory.picture, name):
                    return
        except RefusedError as refusal:
            self._missing(refusal, PODS, "what is free on nodes is not known")

    def _read_every_pod(self, selector: str, *, without_gpus: bool = False) -> None:
        self._put_pods(selector, without_gpus=without_gpus)
        self.read = None

    def _put_pods(self, selector: str, *, without_gpus: bool = False) -> None:
        needed = () if without_gpus else tokens(self._rules)
        for pod in self._list(objects.Pod, "api", "v1", "pods", selector=selector, needed=needed):
            facts = self._facts(pod)
            # What is kept must not grow with the pods that are of no account.
            if without_gpus or facts.shape.request:
                self.inventory.put_pod(facts)

    def _pods_in(self, namespace: str, selector: str) -> Iterator[PodFacts]:
        parts = ("api", "v1", "namespaces", namespace, "pods")
        try:
            for pod in self._list(objects.Pod, *parts, selector=selector):
                yield self._facts(pod)
        except RefusedError as refusal:
            raise AnswerError(
                f"may not list pods in namespace {namespace} ({refusal}). Ask for the verbs get"
                " and list on pods there."
            ) from None

    def _list(
        self,
        kind: type[objects.T],
        *parts: str,
        selector: str = "",
        needed: Collection[bytes] = (),
    ) -> Iterator[objects.T]:
        where = path(*parts)
        return pages(self._api, where, kind, self._progress, selector=selector, tokens=needed)

    def _facts(self, pod: objects.Pod) -> PodFacts:
        try:
            return pod_facts(pod, self._rules)
        except objects.ObjectError as error:
            meta = pod.metadata
            raise AnswerError(f"pod {meta.namespace}/{meta.name}: {error}. Correct it.") from None

    def _serves_dra(self) -> bool:
        """Whether the API group exists: every caller may ask that, and 403 does not tell."""
        try:
            self._api.get(path(*_DRA))
        except RefusedError:
            return False
        return True

    def _missing(self, refusal: RefusedError, kind: str, what: str) -> None:
        """Notes that a kind may not be listed; other refusals end the command."""
        if refusal.status != 403:
            raise AnswerError(
                f"{kind} cannot be listed (HTTP {refusal.status}: {refusal})."
            ) from None
        self.inventory.mark_unread(kind, Detail.FORBIDDEN)
        self._note(f"may not list {kind} (cluster-wide): {what}. Ask for the verb list on {kind}.")
