"""The first question to the API server: is it there, does it let us in, does it know DeviceClasses.

The path is open to every authenticated caller, so the answer tells about the address and the
credentials, not about rights.
"""

import asyncio
import logging
from typing import Any

import msgspec

from gpu_triage.controller.access import Access, AccessError
from gpu_triage.controller.transport import Transport
from gpu_triage.core.causes import DEVICE_CLASSES
from gpu_triage.publish.write import UnreachableError

log = logging.getLogger(__name__)

GROUP, VERSION = "resource.k8s.io", "v1"
LONGEST_PAUSE = 15.0
OLDEST_MINOR = 30
"""Of Kubernetes 1: the first in which an admission policy can hold us to our annotations."""


async def knows_device_classes(transport: Transport, access: Access) -> bool:
    """Whether the API server has DeviceClasses; asks until it has answered.

    Raises:
        AccessError: outside the cluster, where somebody stands by: it cannot be reached as told.
    """
    pause, said = 1.0, False
    while True:
        try:
            status, document = await transport.get(f"/apis/{GROUP}/{VERSION}")
        except UnreachableError as error:
            trouble = f"does not answer ({error})"
            advice = "check that it runs, and that this is the right address"
            if not access.inside:
                raise AccessError(f"{access.source}: {access.server} {trouble}; {advice}") from None
        else:
            if status not in (401, 429) and status < 500:
                return status == 200 and _names(document)
            trouble, advice = f"answers with status {status}", "look at its log"
            if status == 401:
                trouble, advice = "refuses our credentials", "renew the token or certificate"
                if not access.inside:
                    raise AccessError(f"{access.source}: {access.server} {trouble}; {advice}")
        if not said:
            said = True
            log.warning(
                "API server cannot be used yet, is asked again server=%s why=%r fix=%r",
                access.server,
                trouble,
                advice,
            )
        await asyncio.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * 2)


async def tell_if_too_old(transport: Transport) -> None:
    """Says so in the log where the cluster is older than what this is made for."""
    try:
        _, document = await transport.get("/version")
        version = msgspec.convert(document, _Version)
        # Some providers write "29+".
        release = int(version.major), int(version.minor.rstrip("+"))
    except (UnreachableError, msgspec.ValidationError, ValueError):
        return
    if release < (1, OLDEST_MINOR):
        log.warning(
            "Cluster is older than what this is made for version=%s fix=%r",
            version.git_version,
            f"upgrade it to 1.{OLDEST_MINOR} or newer; before that no admission policy can hold "
            "the operator to its annotations, and some words may be wrong",
        )


class _Version(msgspec.Struct, rename="camel"):
    major: str
    minor: str
    git_version: str


def _names(document: Any) -> bool:
    listed = document.get("resources") if isinstance(document, dict) else None
    return any(each.get("name") == DEVICE_CLASSES for each in listed or ())
