"""What anybody who watches a cluster sees of the operator, and whether its Events are true.

Fed with every version of every pod and Event, by a watch or by a pretended API server.
"""

import itertools
from collections import Counter

from gpu_triage.core.vocabulary import VOCABULARY, sense

DOMAIN = "gpu-triage.io/"
REPORTER = "gpu-triage.io/operator"
NOTE_BYTES = 1024


class Witness:
    """All that was seen.

    Attributes:
        stood: by the pod's uid, what stood on it: its annotations of ours without their domain, one
            after the other; {} for none.
        events: every Event of ours as it was made.
        series: how many times one was renewed.
    """

    def __init__(self):
        self.stood = {}
        self.events = []
        self.series = 0
        self._there = {}

    def pod(self, raw):
        """Take a version of a pod; return what stood on it and what stands now, if that differs."""
        seen = self.stood.setdefault(raw["metadata"]["uid"], [{}])
        marks = raw["metadata"].get("annotations") or {}
        now = {k.removeprefix(DOMAIN): v for k, v in marks.items() if k.startswith(DOMAIN)}
        if now == seen[-1]:
            return None
        seen.append(now)
        return seen[-2], now

    def knew(self, raw):
        """Take an Event that was there before anybody looked: it is not judged."""
        self._there[raw["metadata"]["namespace"], raw["metadata"]["name"]] = raw

    def event(self, raw, *, gone=False):
        """Take a version of an Event; tell whether it is one of ours that was made just now."""
        if raw.get("reportingController") != REPORTER:
            return False
        key = raw["metadata"]["namespace"], raw["metadata"]["name"]
        if gone:
            self._there.pop(key, None)
            return False
        before, self._there[key] = self._there.get(key), raw
        if before is None:
            self.events.append(raw)
        elif before.get("series") != raw.get("series"):
            self.series += 1
        return before is None

    def changes(self):
        """How often a word began, a detail changed, a message changed alone, and all went."""
        found = Counter(words=0, details=0, messages=0, removals=0)
        for seen in list(self.stood.values()):  # a watch may add to it meanwhile
            for before, now in itertools.pairwise(seen):
                if not now:
                    found["removals"] += 1
                elif (before.get("cause"), before.get("since")) != (now["cause"], now["since"]):
                    found["words"] += 1
                elif before["detail"] != now["detail"]:
                    found["details"] += 1
                else:
                    found["messages"] += 1
        return found

    def wrong(self):
        """A line for each Event that was made twice, or says what never stood on its pod."""
        lines, spells = [], set()
        for event in self.events:
            name, of = event["metadata"]["name"], event["regarding"]["uid"]
            spell = of, event["reason"], event["type"], event["eventTime"]
            if spell in spells or name in spells:
                lines.append(f"Event {name} was made twice")
            spells |= {spell, name}
            if not any(_agrees(event, each) for each in self.stood.get(of, ())):
                lines.append(
                    f"Event {name} ({event['type']} {event['reason']} since {event['eventTime']}: "
                    f"{event['note']}) says what never stood on its pod: {self.stood.get(of)}"
                )
        return lines


def _agrees(event, there):
    if not there:
        return False
    word = next((each for each in VOCABULARY if each == there["cause"]), None)
    kind = sense(word, there["detail"]).event if word is not None else None
    return kind is not None and (
        event["reason"],
        event["type"],
        event["eventTime"],
        event["note"],
    ) == (
        VOCABULARY[word].reason,
        kind.value,
        there["since"].replace("Z", ".000000Z"),
        there["message"].encode()[:NOTE_BYTES].decode(errors="ignore"),
    )
