"""What people saw: every annotation and Event of every pod, with its time, and how much it was."""

import itertools
from collections import Counter, defaultdict

import msgspec

from tests.hour.scheduler import time_of
from tests.witness import Witness

SHOWN = 15
"""Words in the list of those that stood shortest."""


class Entry(msgspec.Struct, frozen=True):
    """One thing that somebody could see change."""

    when: float
    """Seconds since 1970, by a right clock."""
    pod: str
    """NAMESPACE/NAME; empty for what happened to the cluster."""
    kind: str
    """word, detail, message, gone, Event, series."""
    text: str


class Diary:
    """Entries, as they come, and the witness who checks them.

    Attributes:
        entries: all of them.
        witness: what stood, and which Events were made.
    """

    def __init__(self, begun, clock):
        """Give the time at which the clock's steady seconds began."""
        self.entries = []
        self.witness = Witness()
        self._begun, self._clock = begun, clock

    def note(self, text):
        """Write down what happened to the cluster."""
        self._add("", "", text)

    def pod(self, raw):
        """Take a version of a pod."""
        changed = self.witness.pod(raw)
        if changed is None:
            return
        before, now = changed
        key = f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"
        if not now:
            self._add(key, "gone", "no annotation of ours any more")
            return
        if (before.get("cause"), before.get("since")) != (now["cause"], now["since"]):
            kind, since = "word", f" (since {now['since'][11:19]})"
        else:
            kind, since = "detail" if before["detail"] != now["detail"] else "message", ""
        self._add(key, kind, f"{now['cause']}/{now['detail']}: {now['message']}{since}")

    def event(self, raw):
        """Take a version of an Event."""
        made = self.witness.event(raw)
        key = f"{raw['regarding']['namespace']}/{raw['regarding']['name']}"
        count = f" x{raw['series']['count']}" if "series" in raw else ""
        text = f"{raw['type']} {raw['reason']}{count}" + (f": {raw['note']}" if made else "")
        self._add(key, "Event" if made else "series", text)

    def print(self, only=""):
        """All of it, pod by pod in the order in which they came to be seen, then the sums."""
        print("What happened to the cluster\n")
        for each in self.entries:
            if not each.pod:
                print(f"  {_clock(each.when)}  {each.text}")
        for pod, entries in self._by_pod().items():
            if only in pod:
                print(f"\n{pod}")
                for each in entries:
                    print(f"  {_clock(each.when)}  {each.kind:8} {each.text}")
        self._print_sums()

    def shortest(self):
        """How long words stood before another came or they went: (seconds, pod, word, next)."""
        return sorted(
            (then.when - word.when, pod, word, then)
            for pod, entries in self._by_pod().items()
            for word, then in itertools.pairwise(
                [each for each in entries if each.kind in ("word", "gone")]
            )
            if word.kind == "word"
        )

    def _add(self, pod, kind, text):
        self.entries.append(Entry(self._begun + self._clock.steady(), pod, kind, text))

    def _by_pod(self):
        found = defaultdict(list)
        for each in self.entries:
            if each.pod:
                found[each.pod].append(each)
        return found

    def _print_sums(self):
        by_pod = self._by_pod()
        print(f"\nPods on which something was seen: {len(by_pod)}")
        for kind in ("word", "detail", "message", "gone", "Event", "series"):
            counts = Counter(each.pod for each in self.entries if each.kind == kind)
            most = "".join(f"; most on one pod: {n} ({pod})" for pod, n in counts.most_common(1))
            print(f"  {kind:8} {counts.total():6}{most}")
        types = Counter(
            each.text.partition(":")[0] for each in self.entries if each.kind == "Event"
        )
        print("Events by type and reason:")
        for name, number in types.most_common():
            print(f"  {name:30} {number:6}")
        print("Words that stood shortest:")
        for lasted, pod, word, then in self.shortest()[:SHOWN]:
            after = "gone" if then.kind == "gone" else then.text.partition(":")[0]
            began = word.text.partition(":")[0]
            print(f"  {lasted:7.1f} s  {pod:32} {began} → {after} at {_clock(word.when)}")


def _clock(seconds):
    return f"{time_of(seconds)[11:19]}.{int(seconds * 10) % 10}"
