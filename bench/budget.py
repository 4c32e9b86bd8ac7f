"""What the operator writes in a day at most while so many pods wait: `python -m bench.budget`.

Computed from the default settings and the sizes of real writes; tests/unit/test_budget.py holds the
operator to it in an hour of churn, and docs/budget.md to this table.
"""

import msgspec

from gpu_triage.cluster.verdicts import Standing
from gpu_triage.core.causes import Cause, Detail
from gpu_triage.core.objects import pod as parse_pod
from gpu_triage.core.pod_facts import PodFacts, pod_facts
from gpu_triage.core.rules import Rules
from gpu_triage.publish import annotations, events
from gpu_triage.publish.terms import Terms
from gpu_triage.publish.write import Write
from gpu_triage.settings import Settings

DAY, HOUR = 86_400, 3_600
HEADERS = 300
"""Bytes of a request besides its path and body; a token of a ServiceAccount adds a KB."""
SIZES = (10, 1_000, 3_000)


class Budget(msgspec.Struct, frozen=True):
    """Writes at most, while the words of the waiting pods stay as they are."""

    numbers: float
    """Texts in which numbers alone have changed."""
    series: float
    """Renewals of Events."""

    @property
    def writes(self) -> float:
        return self.numbers + self.series


def budget(pods: int, speaking: int, seconds: float, terms: Terms) -> Budget:
    """What is written at most for so many waiting pods, of which some have Events."""
    numbers = min(pods * seconds / terms.refresh, seconds * terms.refreshes)
    return Budget(numbers, speaking * seconds / terms.event_period)


def rows(terms: Terms):
    """The rows of the table: of pods that nobody controls, and of one Job."""
    change, renewal = size(_word()), size(_renewal())
    for pods in SIZES:
        for owner, speaking in (("none", pods), ("one Job", min(pods, terms.event_pods))):
            found = budget(pods, speaking, DAY, terms)
            sent = found.numbers * change + found.series * renewal
            yield (
                f"{pods:,}",
                owner,
                f"{found.numbers:,.0f}",
                f"{found.series:,.0f}",
                f"{found.writes:,.0f}",
                f"{found.writes / DAY:.2g}",
                f"{sent / 1e6:,.1f} MB",
            )


def size(write: Write) -> int:
    """The bytes of a request."""
    return HEADERS + len(write.path) + len(write.body)


def table(terms: Terms) -> str:
    """The table in Markdown."""
    head = ("waiting pods", "owner", "numbers", "series", "writes a day", "a second", "sent a day")
    lines = [head, ("---",) * len(head), *rows(terms)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines).replace("| --- ", "|---") + "\n"


def _pod() -> PodFacts:
    amount = {"nvidia.com/gpu": "8"}
    return pod_facts(
        parse_pod(
            {
                "metadata": {
                    "name": "llama-finetune-7d9c5b8f6d-x2x4z",
                    "namespace": "team-research",
                    "uid": "b1946ac9-2492-4d23-8c6a-3a4f8d2c1e00",
                },
                "spec": {"containers": [{"name": "main", "resources": {"limits": amount}}]},
            }
        ),
        Rules(),
    )


def _standing() -> Standing:
    text = (
        "Needs 8 nvidia.com/gpu on one node; best of 412: gpu-a100-0317.example.com has 4 of 8"
        " nvidia.com/gpu free. Held there by 2 pods of other namespaces (4)."
    )
    return Standing(_pod(), Cause.EXHAUSTED, Detail.BUSY, 1767225600, text)


def _word() -> Write:
    return annotations.publish(_standing(), Rules().domain)


def _renewal() -> Write:
    told = events.Told(events.name_of(_standing(), _kind()), 1767229200.0)
    write = events.change(_standing(), told, 1767229200.0, Terms(domain="x.io").event_period)
    assert write is not None
    return write


def _kind():
    kind = events.event_type(_standing())
    assert kind is not None
    return kind


def main() -> None:
    """Print the table."""
    print(table(Settings().terms), end="")
    print(f"\na change of numbers: {size(_word())} bytes; a renewal: {size(_renewal())} bytes")


if __name__ == "__main__":
    main()
