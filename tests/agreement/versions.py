"""Where a version of Kubernetes is known to do something else than our classifier says.

Such a difference is declared here, and predicted rather than passed over: the scheduler of that
version must say exactly what the declaration says it does. Each such verdict is counted.
"""

from enum import StrEnum

import msgspec


class Difference(StrEnum):
    """A declared difference."""

    GATED_NOMINATION = (
        "a scheduler up to 1.36 that starts anew does not know the nominations of gated pods"
    )
    DRA_ZERO = "1.34 leaves a resource to DRA only where the key is absent, not where it is 0"
    OLD_TAINT_TEXT = "1.34.0 and 1.34.1 name the taint; read as the later text"


class Version(msgspec.Struct, frozen=True):
    """What one version does."""

    text: str

    @property
    def minor(self) -> int:
        """37 of v1.37.2."""
        return int(self.text.split(".")[1])

    def differences(self, *, restarted: bool, classes: bool) -> list[Difference]:
        """The differences that can decide a verdict.

        Args:
            restarted: the scheduler has started anew after everything stood.
            classes: DeviceClasses serve extended resources.
        """
        found = []
        # A nomination is recorded when a pod enters the active queue, and gated pods never do.
        if self.minor <= 36 and restarted:
            found.append(Difference.GATED_NOMINATION)
        # NodeResourcesFit leaves to DRA only what allocatable does not mention.
        if self.minor == 34 and classes:
            found.append(Difference.DRA_ZERO)
        return found

    @property
    def gates(self) -> list[str]:
        """Feature gates that show more of the classifier than the defaults do.

        Tolerations with Gt and Lt are alpha since 1.35; extended resources by DRA are alpha before
        1.36, and without the gate the API server drops the field that maps them.
        """
        gates = []
        if self.minor >= 35:
            gates.append("TaintTolerationComparisonOperators=true")
        if self.minor < 36:
            gates.append("DRAExtendedResource=true")
        return gates
