"""The first question to the API server: is it there, does it let us in, does it know DeviceClasses.

The path is open to every authenticated caller, so the answer tells about the address and the
credentials, not about rights.
"""

import asyncio
import logging
from typing import Any

from gpu_triage.controller.access import Access, AccessError
from gpu_triage.controller.transport import Transport
from gpu_triage.core.causes import DEVICE_CLASSES
from gpu_triage.publish.write import UnreachableError

log = logging.getLogger(__name__)

GROUP, VERSION = "resource.k8s.io", "v1"
LONGEST_PAUSE = 15.0


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


def _names(document: Any) -> bool:
    listed = document.get("resources") if isinstance(document, dict) else None
    return any(each.get("name") == DEVICE_CLASSES for each in listed or ())
