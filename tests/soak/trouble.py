"""Random faults between the operator and the API server, and its death; each is mended again."""

import time

KINDS = ("pods", "nodes")
KILLS = 0.4
"""The part of the faults that kill the operator, while it may be killed."""


class Trouble:
    """One fault after another; which, and how long, is the seed's alone."""

    def __init__(self, proxy, operator, chance, stale_seconds):
        """Describe it.

        Args:
            proxy: the operator's way to the API server.
            operator: its process.
            chance: a random.Random.
            stale_seconds: how long a silent watch is believed.
        """
        self._proxy, self._operator, self._chance = proxy, operator, chance
        self._stale_seconds = stale_seconds
        self.seen = {}
        """How often each fault has been made."""

    def strike(self, *, kill=True):
        """Make one fault and mend it.

        Args:
            kill: whether the operator may be killed.
        """
        doings = {
            "watches cut": self._cut,
            "a watch cut in mid-line": self._cut_line,
            "410 on watches": self._gone,
            "410 on a page": self._lapsed,
            "429": self._pause_asked,
            "503": self._fails,
            "writes answered 500": self._writes_fail,
            "answers after a second": self._slow,
            "one watch silent": self._silent,
            "events twice and in disorder": self._twisted,
        }
        name = self._chance.choice(sorted(doings))
        if kill and self._chance.random() < KILLS:
            name, doings["kill -9"] = "kill -9", self._kill
        self.seen[name] = self.seen.get(name, 0) + 1
        doings[name]()
        return name

    def _cut(self):
        self._proxy.cut(self._chance.choice(KINDS))

    def _cut_line(self):
        self._proxy.cut(self._chance.choice(KINDS), within_line=True)

    def _gone(self):
        with self._proxy.answering(410, watch=True, times=len(KINDS)):
            self._proxy.cut(*KINDS)
            self._wait(3)

    def _lapsed(self):
        self._proxy.page_size = 2
        with (
            self._proxy.answering(410, paged=True, times=1),
            self._proxy.answering(410, watch=True, times=len(KINDS)),
        ):
            self._proxy.cut(*KINDS)
            self._wait(4)
        self._proxy.page_size = None

    def _pause_asked(self):
        with self._proxy.answering(429, headers={"Retry-After": "1"}):
            self._proxy.cut(*KINDS)
            self._wait(4)

    def _fails(self):
        with self._proxy.answering(503):
            self._proxy.cut(*KINDS)
            self._wait(6)

    def _writes_fail(self):
        with self._proxy.answering(500, watch=False):
            self._wait(4)

    def _slow(self):
        with self._proxy.delaying(1):
            self._wait(5)

    def _silent(self):
        with self._proxy.stalling(self._chance.choice(KINDS)):
            self._wait(2 * self._stale_seconds)

    def _twisted(self):
        with self._proxy.twisting():
            self._wait(5)

    def _kill(self):
        self._operator.process.kill()
        self._operator.process.wait()
        self._wait(2)
        self._operator.start()

    def _wait(self, most):
        time.sleep(self._chance.uniform(0.2, most))
