"""Words over time in one line: raw ones in at their seconds, those that stand out at theirs.

    settled("0 exhausted, 10 fits, 45 placed")  ==  "2 exhausted, 40 fits, 45 -"

In: ``SECOND WORD`` (or ``CAUSE/DETAIL``) from when on the raw word is this one; ``placed``,
``deleted``; ``restart``: the operator starts anew and sees nothing before the next;
``clock+90``, ``clock-90``: somebody sets the day. What is to be looked at again is looked at then.

Out: each time that something else stands; ``-``: nothing of the pod is known any more; ``since N``
where a word goes on that began at N.
"""

import msgspec

from gpu_triage.cluster.settling import Pace
from gpu_triage.cluster.verdicts import Verdicts
from gpu_triage.core import objects
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.classify import Raw
from gpu_triage.core.message import Message
from gpu_triage.core.pod_facts import pod_facts
from gpu_triage.core.rules import Rules
from gpu_triage.publish.annotations import values
from tests import builders
from tests.answers import NOW

UPTIME = 5000.0
"""What the clock that never goes back shows at second 0."""
END = 10_000
WORDS = {
    "label": (Cause.LABEL_MISMATCH, Detail.UNKNOWN_VALUE),
    "taint": (Cause.TAINT, Detail.UNTOLERATED),
    "no-gpu-node": (Cause.NO_GPU_NODE, Detail.PLUGIN_MISSING),
    "zero": (Cause.ALLOCATABLE_ZERO, Detail.PLUGIN_GONE),
    "exhausted": (Cause.EXHAUSTED, Detail.BUSY),
    "gated": (Cause.GATED, Detail.SCHEDULING_GATES),
    "fits": (Cause.NOT_GPU, Detail.NOT_TRIED),
    "forbidden": (Cause.UNKNOWN, Detail.FORBIDDEN),
    "terminating": (Cause.NOT_GPU, Detail.TERMINATING),
}
USUAL = Pace()
_NAMES = {words: name for name, words in WORDS.items()}


def settled(line, pace=USUAL, *, published=None, **spec):
    """What stands when, for a pod whose raw words are these."""
    return Timeline(pace, published, **spec).play(line)


class Timeline:
    """One pod and the operator over time."""

    def __init__(self, pace=USUAL, published=None, **spec):
        """Takes what is published on the pod at the start, and fields of its spec."""
        self.pace = pace
        self.verdicts = Verdicts(pace)
        self.published = published or {}
        self.spec = spec
        self.set_by = 0.0
        self.raw = None
        self.made = {}
        self.there = None
        self.told = []

    def play(self, line):
        steps = [each.split() for each in line.split(",")]
        times = [float(second) for second, _ in steps]
        ends = [*times[1:], END]
        for (_, what), begins, end in zip(steps, times, ends, strict=True):
            self.happen(what, begins)
            at = begins
            while self.raw is not None and at < end:
                at = self.judge(at)
        return ", ".join(self.told)

    def happen(self, what, at):
        match what.partition("/"):
            case ("placed", _, _):
                self.verdicts.place(self.pod().uid, UPTIME + at)
                self.raw = None
            case ("deleted", _, _):
                self.verdicts.forget(self.pod().uid)
                self.raw = None
            case ("restart", _, _):
                self.verdicts, self.raw = Verdicts(self.pace), None
                return
            case (cause, "", "") if cause in WORDS:
                self.raw = Raw(*WORDS[cause])
            case (cause, "/", detail):
                self.raw = Raw(Cause(cause), Detail(detail))
            case (clock, "", ""):
                self.set_by += float(clock.removeprefix("clock"))
        self.note(at)

    def judge(self, at):
        """Judge the pod; return when to do it again."""
        now = NOW + at + self.set_by
        pod = self.pod()
        again = self.verdicts.judge(pod, self.raw, now, UPTIME + at)
        if self.verdicts.wants_message(pod.uid, self.raw):
            self.verdicts.say(pod.uid, Message("as it is"))
        self.note(at)
        assert again > UPTIME + at
        return again - UPTIME

    def pod(self):
        gated = self.raw is not None and self.raw.cause is Cause.GATED
        looks = gated, tuple(self.published.items())
        if looks not in self.made:
            gates = [{"name": "queue"}] if gated else []
            annotations = {f"gpu-triage.io/{key}": value for key, value in self.published.items()}
            raw = builders.pod(annotations=annotations, schedulingGates=gates, **self.spec)
            self.made[looks] = pod_facts(objects.pod(raw), Rules())
        return self.made[looks]

    def note(self, at):
        standing = self.verdicts.of("uid-default-train")
        unsaid = {"message": "", "taken": "", "step": None}
        known = msgspec.structs.replace(standing, pod=None, **unsaid) if standing else None
        if known == self.there or (known is None and self.raw is not None):
            return
        self.published = values(standing)
        before, self.there = self.there, known
        if known is None:
            self.told.append(f"{at:g} -")
            return
        words = known.cause, known.detail
        said = f"{at:g} {_NAMES.get(words, '/'.join(words))}"
        began = known.since - int(NOW)
        same = before is not None and before.cause is known.cause
        self.told.append(said + (f" since {began}" if same or began != int(at) else ""))
