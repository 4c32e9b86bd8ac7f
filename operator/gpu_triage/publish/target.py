"""One pod: what should be said about it, what is known to be said, and the next write."""

import math

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.facts import PodFacts
from gpu_triage.publish import annotations, events
from gpu_triage.publish.write import Write


class Target(msgspec.Struct):
    """One pod: what should be said about it, and what is known to be."""

    pod: PodFacts
    standing: Standing | None
    echo: tuple[dict[str, str], dict[str, str]] | None = None
    """What the watch showed when we wrote, and what we wrote: our own write comes back later."""
    told: events.Told | None = None
    refused: Write | None = None
    refused_until: float = 0.0
    failures: int = 0
    not_before: float = 0.0
    due: float = math.inf
    """When it is looked at again without being asked for."""
    gone: bool = False

    def there(self) -> dict[str, str]:
        """What stands on the pod, as far as is known."""
        if self.echo is not None and self.pod.published == self.echo[0]:
            return self.echo[1]
        self.echo = None
        return self.pod.published

    def next_write(self, now: float, domain: str, event_period: float) -> Write | None:
        """The write that the pod needs now: the annotation first, its Event once that stands.

        None while its word has no message yet: what stands on the pod stays until there is
        something to say, and what was to be said before is not true any more.
        """
        unsaid = self.standing is not None and not self.standing.message
        if self.gone or unsaid or now < self.not_before:
            return None
        write = annotations.change(self.pod, self.there(), self.standing, domain)
        if write is None and self.standing is not None:
            write = events.change(self.standing, self.told, now, event_period)
        return None if write is not None and self._is_refused(write, now) else write

    def look_again(self, now: float) -> float:
        """When a pod that needs no write now may need one, if nothing changes; else infinity."""
        renew = self.told.renew if self.told is not None else math.inf
        times = (self.not_before, self.refused_until, renew)
        return min((each for each in times if each > now), default=math.inf)

    def _is_refused(self, write: Write, now: float) -> bool:
        before = self.refused
        if before is None or now >= self.refused_until:
            return False
        return before.kind is write.kind and before.says == write.says
