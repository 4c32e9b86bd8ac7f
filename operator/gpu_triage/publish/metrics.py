"""The metrics, worked out from the current state whenever they are scraped."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from prometheus_client.core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from gpu_triage.cluster.fleet import Fleet
from gpu_triage.cluster.history import History
from gpu_triage.cluster.verdicts import Standing
from gpu_triage.publish import metrics_history as history
from gpu_triage.publish import metrics_own as own
from gpu_triage.publish import metrics_supply as supply
from gpu_triage.publish import metrics_waiting as waiting
from gpu_triage.publish.counters import Counters

log = logging.getLogger(__name__)

MOST_ROWS = 1000
"""With more waiting pods there is no row for each: a series a pod costs more than it tells."""


class Words(Protocol):
    """The words of the waiting pods, and what has happened to them: ``Verdicts``."""

    @property
    def standing(self) -> Mapping[str, Standing]:
        """The words that stand, by the pods' uids."""

    @property
    def waiting_since(self) -> Mapping[str, float]:
        """Since when each pod waits, by uid, in seconds since 1970; no pod behind a gate does."""

    @property
    def history(self) -> History:
        """What has happened so far."""


class StateCollector(Collector):
    """Reads words, nodes and counters; holds nothing of its own."""

    def __init__(
        self,
        words: Words,
        fleet: Fleet,
        classes: Mapping[str, str],
        counters: Counters,
        *,
        version: str,
        synced: Callable[[], bool],
        judged: Callable[[], bool],
        ages: Callable[[], Mapping[str, float]],
        leads: Callable[[], bool],
        pod_rows: bool,
    ) -> None:
        """Reads nothing yet.

        Args:
            words: the words of the waiting pods, and what has happened to them.
            fleet: the GPUs of all nodes.
            classes: resources that Dynamic Resource Allocation serves, as in ``Picture.classes``.
            counters: what loop and writer count.
            version: of the operator.
            synced: whether every watched kind has been read.
            judged: whether words and nodes have been worked out once. Before, nothing is said of
                them: a 0 that means "not known yet" would end alerts.
            ages: seconds since anything was heard of a kind, by its plural.
            leads: whether this replica writes; one that does not shows no counts of what is told.
            pod_rows: whether every waiting pod has a row of its own, where they are not too many.
        """
        self._words = words
        self._fleet = fleet
        self._classes = classes
        self._counters = counters
        self._version = version
        self._synced = synced
        self._judged = judged
        self._ages = ages
        self._leads = leads
        self._pod_rows = pod_rows
        self._has_said = False

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry would otherwise collect once to learn the names."""
        return []

    def collect(self) -> Iterable[Metric]:
        """Every metric as of now."""
        leads = self._leads()
        if self._judged():
            yield from self._state()
        if leads:
            yield history.cause_changes(self._words.history)
            yield history.pending_seconds(self._words.history)
            yield own.writes(self._counters.writes)
            yield own.write_queue(self._counters.queued)
        yield own.synced(self._synced())
        yield own.watch_age(self._ages())
        yield own.recompute_seconds(self._counters.recomputed)
        yield own.leader(leads)
        yield own.build_info(self._version)

    def _state(self) -> Iterable[Metric]:
        standing = self._words.standing
        words = standing.values()
        yield waiting.pending_pods(words)
        yield waiting.pending_gpus(words, self._fleet.resources)
        yield waiting.namespace_pending_pods(words)
        if self._pod_rows and self._are_few(standing):
            yield waiting.pod_cause_info(words)
        yield waiting.oldest_pending(standing, self._words.waiting_since)
        yield supply.gpus(self._fleet)
        yield supply.unhealthy_gpus(self._fleet.missing(self._classes))
        yield supply.node_offer_lost(self._fleet.lost(self._classes))

    def _are_few(self, standing: Mapping[str, Standing]) -> bool:
        few = len(standing) <= MOST_ROWS
        if not few and not self._has_said:
            self._has_said = True
            log.info(
                "Left out gpu_triage_pod_cause_info while too many pods wait pods=%d most=%d",
                len(standing),
                MOST_ROWS,
            )
        return few


def registry(collector: StateCollector) -> CollectorRegistry:
    """A registry that holds this collector and nothing else."""
    mine = CollectorRegistry()
    mine.register(collector)
    return mine
