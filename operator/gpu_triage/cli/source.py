"""Where answers come from: files or a live cluster, behind one face."""

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Protocol

from gpu_triage.cli import draw, moments
from gpu_triage.cli.connection import Api, Connection
from gpu_triage.cli.evidence import Evidence, FromApi, FromFiles
from gpu_triage.cli.failure import AnswerError
from gpu_triage.cli.files import read
from gpu_triage.cli.live import Live
from gpu_triage.cli.question import Question
from gpu_triage.cluster.engine import Engine
from gpu_triage.cluster.inventory import Inventory
from gpu_triage.core.causes import NODES, PODS
from gpu_triage.core.classify import classify
from gpu_triage.core.picture import Picture
from gpu_triage.core.pod_facts import PodFacts
from gpu_triage.core.survey import Verdict


class Source(Protocol):
    """What can be asked of files and clusters alike."""

    now: float
    """Seconds since 1970."""
    picture: Picture
    evidence: Evidence
    namespace: str | None
    """The one that is asked about; None: all of them."""

    def find(self, name: str) -> list[PodFacts]:
        """The pods of a name."""
        ...

    def judge(self, pod: PodFacts) -> Verdict:
        """The verdict for one of them, after reading what it rests on."""
        ...

    def judge_all(self, pods: Iterable[PodFacts]) -> Iterator[Verdict]:
        """The verdicts for those of a survey, each when its turn comes: each holds every node."""
        ...

    def survey(self, *, everything: bool) -> list[PodFacts]:
        """Reads what a report rests on; the pods that it is about.

        Args:
            everything: placed pods, ended ones and those without a request too.
        """
        ...

    def survey_nodes(self) -> None:
        """Reads what the GPUs of the nodes rest on."""
        ...

    def exists(self, namespace: str) -> bool:
        """Whether a namespace is there, as far as may be known."""
        ...

    @property
    def several(self) -> bool:
        """Whether pods of several namespaces are asked about."""
        ...

    @property
    def read(self) -> set[str] | None:
        """The nodes whose pods were read; None for all."""
        ...

    @property
    def dra_unread(self) -> bool:
        """DeviceClasses may not be read and were taken as absent."""
        ...


def source(question: Question) -> Source:
    """The files or the cluster that a question is about. Raises AnswerError."""
    if question.files:
        return Files(question)
    connection = Connection(question.kubeconfig, question.context)
    return LiveCluster(question, connection, draw.note)


class Files:
    """Answers from files."""

    read: set[str] | None = None
    dra_unread = False

    def __init__(self, question: Question) -> None:
        self._snapshot = read(question.files, question.rules, question.dra)
        self.now = self._snapshot.now if question.now is None else question.now
        self.picture = self._snapshot.inventory.picture
        self.evidence: Evidence = FromFiles(self._snapshot)
        self.namespace = question.namespace
        if n := self._snapshot.skipped:
            what = "1 file holds" if n == 1 else f"{n} files hold"
            draw.note(f"{what} no Kubernetes object and {'was' if n == 1 else 'were'} skipped.")

    @property
    def several(self) -> bool:
        """See Source."""
        return len({pod.namespace for pod in self._snapshot.pods(self.namespace)}) > 1

    def find(self, name: str) -> list[PodFacts]:
        """See Source."""
        return [pod for pod in self._snapshot.pods(self.namespace) if pod.name == name]

    def judge(self, pod: PodFacts) -> Verdict:
        """See Source."""
        verdict = classify(pod, self.picture, self.now)
        _note_lacking(verdict.unread)
        return verdict

    def judge_all(self, pods: Iterable[PodFacts]) -> Iterator[Verdict]:
        """See Source."""
        lacking: set[str] = set()
        for verdict in _verdicts(pods, self._snapshot.inventory, self.now):
            lacking.update(verdict.unread)
            yield verdict
        _note_lacking(lacking)

    def survey(self, *, everything: bool) -> list[PodFacts]:
        """See Source."""
        if PODS in self.picture.unread:
            draw.note("the files hold no pods. Add what `kubectl get pods -A -o yaml` writes.")
        return [pod for pod in self._snapshot.pods(self.namespace) if everything or pod.pending]

    def survey_nodes(self) -> None:
        """See Source."""
        if NODES in self.picture.unread:
            raise AnswerError(
                "the files hold no node: add what `kubectl get nodes -o yaml` writes."
            )

    def exists(self, namespace: str) -> bool:
        """See Source."""
        return namespace in self._snapshot.namespaces()


class LiveCluster:
    """Answers from a live cluster."""

    def __init__(self, question: Question, api: Api, note: Callable[[str], None]) -> None:
        self._api = api
        self._live = Live(
            api,
            question.rules,
            dra=question.dra,
            explain=question.output != "word",
            progress=draw.progress(),
            note=note,
        )
        self.now = moments.now()
        self.picture = self._live.inventory.picture
        self.evidence: Evidence = FromApi(api)
        self.namespace = None if question.all_namespaces else question.namespace or api.namespace

    @property
    def several(self) -> bool:
        """See Source."""
        return self.namespace is None

    @property
    def read(self) -> set[str] | None:
        """See Source."""
        return self._live.read

    @property
    def dra_unread(self) -> bool:
        """See Source."""
        return self._live.dra_unread

    def find(self, name: str) -> list[PodFacts]:
        """See Source."""
        assert self.namespace is not None  # a pod and -A do not go together
        found = self._live.find(self.namespace, name)
        return [] if found is None else [found]

    def judge(self, pod: PodFacts) -> Verdict:
        """See Source."""
        return self._live.judge(pod, self.now)

    def judge_all(self, pods: Iterable[PodFacts]) -> Iterator[Verdict]:
        """See Source."""
        return _verdicts(pods, self._live.inventory, self.now)

    def survey(self, *, everything: bool) -> list[PodFacts]:
        """See Source."""
        self._live.read_pods(self.namespace, ended=everything)
        if PODS in self.picture.unread and self.namespace is None:
            raise AnswerError("without that right, give a namespace in which you may with -n.")
        every = self._live.inventory.pods.values()
        pods = [pod for pod in every if self.namespace in (None, pod.namespace)]
        asked = [pod for pod in pods if everything or pod.pending]
        if self._live.read_nodes() and any(pod.pending for pod in asked):
            self._live.read_classes()
        return asked

    def survey_nodes(self) -> None:
        """See Source."""
        if not self._live.read_nodes():
            raise AnswerError("without that right, no node can be shown.")
        self._live.read_pods(None, ended=False)

    def exists(self, namespace: str) -> bool:
        """See Source."""
        pods = self._live.inventory.pods.values()
        return any(pod.namespace == namespace for pod in pods) or self._live.exists(namespace)


def _verdicts(pods: Iterable[PodFacts], known: Inventory, now: float) -> Iterator[Verdict]:
    """What classify says to each, from one look at every node for all of them."""
    engine = Engine(known)
    engine.refresh(now)
    for pod in pods:
        if pod.uid in engine.words:
            yield engine.verdict(pod.uid)
        else:
            yield classify(pod, known.picture, now)


def _note_lacking(kinds: Collection[str]) -> None:
    lacking = sorted(kinds)
    if lacking:
        draw.note(
            f"the files hold no {' and no '.join(lacking)}: words that rest on them are"
            f" unknown. Add what `kubectl get {','.join(lacking)} -o yaml` writes."
        )
