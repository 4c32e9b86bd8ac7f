"""What the log says of writes that the API server does not take: once, with what to do about it."""

import logging

from gpu_triage.publish.write import Answer, Kind, Result, Write

log = logging.getLogger(__name__)


class Complaints:
    """The kinds of write of which the log has said that they are not taken."""

    def __init__(self) -> None:
        self._made: set[Kind] = set()

    def taken(self, kind: Kind) -> None:
        """Notes that a write was taken: the next that is not is worth a line again."""
        self._made.discard(kind)

    def make(self, write: Write, answer: Answer, result: Result, pod: str) -> None:
        """Says that a write was not taken, unless that has been said of its kind.

        Args:
            write: what was sent.
            answer: what came back.
            result: what that means: ``REFUSED`` or ``INVALID``.
            pod: NAMESPACE/NAME.
        """
        if write.kind in self._made:
            return
        self._made.add(write.kind)
        log.warning(
            "Write was not taken kind=%s pod=%s status=%d answer=%r fix=%r",
            write.kind,
            pod,
            answer.status,
            answer.message,
            _fix(write, answer) if result is Result.REFUSED else _REPORT,
        )


def _fix(write: Write, answer: Answer) -> str:
    # Policies and webhooks alike "denied" it; a missing right only is forbidden.
    return _POLICY if "denied" in answer.message else _RIGHTS[write.kind]


_REPORT = "report this, with the versions in use"
_POLICY = (
    "the policy that it names must let this account write its annotations and Events; it has to"
    " know the account and GPU_TRIAGE_ANNOTATION_DOMAIN"
)
_RIGHTS = {
    Kind.ANNOTATION: "let the operator patch pods/status: kubectl apply -f deploy/rbac",
    Kind.REMOVAL: "let the operator patch pods/status: kubectl apply -f deploy/rbac",
    Kind.EVENT: "let the operator create events (events.k8s.io): kubectl apply -f deploy/rbac",
    Kind.SERIES: "let the operator patch events (events.k8s.io): kubectl apply -f deploy/rbac",
}
