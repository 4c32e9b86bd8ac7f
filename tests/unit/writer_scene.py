"""A writer, its clock, and a fake API server that answers as scripted, else with 200."""

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.publish.counters import Counters
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Answer
from gpu_triage.publish.writer import Writer
from tests import builders
from tests.answers import ask

NODE = builders.node()
OK = Answer(200)


def pod(name="train", uid=None, **rest):
    facts = ask(builders.pod(name, **rest), NODE).pod
    return msgspec.structs.replace(facts, uid=uid) if uid else facts


def word(of, cause=Cause.EXHAUSTED, detail=Detail.BUSY, since=1000, message="Needs 2.", **parts):
    return Standing(of, cause, detail, since, message, **parts)


def at_once(coroutine):
    """What a coroutine returns that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


class Scene:
    """A writer, its clock, and a fake API server that answers as scripted, else with 200."""

    def __init__(self, *answers, **terms):
        self.clock = 1000.0
        self.sent = []
        self.answers = list(answers)
        self.counters = Counters()
        self.meanwhile = None
        self.terms = Terms(domain="gpu-triage.io", **terms)
        self.leads = True
        self.writer = Writer(
            self.send,
            lambda: self.clock,
            self.counters,
            self.terms,
            may_write=lambda: self.leads,
        )
        self.writer.hold(False)

    async def send(self, write):
        self.sent.append(
            f"{write.kind} {write.path.split('/')[6].split('?')[0]}"
            if write.kind in ("annotation", "removal")
            else f"{write.kind} {write.says.rsplit('.', 1)[0]}"
        )
        self.last = write
        if self.meanwhile:
            self.meanwhile()
        answer = self.answers.pop(0) if self.answers else OK
        if isinstance(answer, Exception):
            raise answer
        return answer

    def drain(self):
        """Step until nothing is due; return what was sent meanwhile and the wait that is left."""
        before = len(self.sent)
        for _ in range(10_000):
            wait = at_once(self.writer.step())
            if wait > 0:
                return self.sent[before:], wait
        raise AssertionError("it never comes to rest")

    def counted(self):
        return {f"{kind}/{result}": n for (kind, result), n in self.counters.writes.items()}
