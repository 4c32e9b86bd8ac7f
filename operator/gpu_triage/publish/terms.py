"""How much may be written and how often: so little that nobody who watches pods minds."""

import msgspec

from gpu_triage.core.pod_facts import ANNOTATIONS


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of all that is written."""

    domain: str
    """Prefix of the annotation keys."""
    old_domains: tuple[str, ...] = ()
    """Former prefixes: what stands under them is removed."""
    rate: float = 50
    """Requests a second, of all kinds together."""
    burst: float = 100
    """How many of them may come at once after a rest."""
    refreshes: float = 5
    """Of them, texts a second in which numbers alone have changed."""
    refresh: float = 600
    """Seconds between two writes of one pod for other numbers alone."""
    fix: float = 300
    """Seconds between two writes of one pod for another next step alone: the nearest node changes
    whenever a GPU is freed, and with it the step."""
    again: float = 60
    """Seconds until what somebody else has changed is put right a second time."""
    event_period: float = 1800
    """Seconds between two writes of an Event's series."""
    event_gap: float = 300
    """Seconds between two new Events of one pod; a Warning after a Normal one may come at once."""
    alarm: float = 30
    """Seconds that a full cluster must have looked fragmented or broken to a pod before there is a
    Warning of it."""
    event_pods: int = 20
    """How many pods of one owner get Events for one word: the oldest."""

    def is_own(self, key: str) -> bool:
        """Whether an annotation is one of ours, of a former domain too."""
        domain, _, name = key.rpartition("/")
        return name in ANNOTATIONS and (domain == self.domain or domain in self.old_domains)

    def short(self, key: str) -> str:
        """A key of ours as facts have it: without the domain, but for a former one."""
        return key.removeprefix(f"{self.domain}/")

    def whole(self, name: str) -> str:
        """The reverse."""
        return name if "/" in name else f"{self.domain}/{name}"
