"""Whether an operator still runs, for the clean-up: one that does would write what is removed.

Helm starts the clean-up when it has asked for the operator's end, not when that has come.
"""

import argparse
import asyncio
import json
import logging
import time
from urllib.parse import quote

from gpu_triage.controller.transport import Transport
from gpu_triage.publish.write import UnreachableError

log = logging.getLogger(__name__)

PATIENCE_SECONDS = 60.0
PAUSE_SECONDS = 0.5


def place(text: str) -> tuple[str, str]:
    """NAMESPACE/SELECTOR in two, for argparse."""
    namespace, _, selector = text.partition("/")
    if not namespace or "=" not in selector:
        raise argparse.ArgumentTypeError(
            f"{text!r}: give NAMESPACE/LABEL=VALUE,… of the operator's pods"
        )
    return namespace, selector


async def wait_until_gone(transport: Transport, namespace: str, selector: str) -> bool:
    """Waits until no such pod is left that has not ended; whether that came about.

    It waits for a minute: a pod on a node that is lost never ends, and writes no more either.
    """
    path = (
        f"/api/v1/namespaces/{namespace}/pods?limit=1&labelSelector={quote(selector)}"
        f"&fieldSelector={quote('status.phase!=Succeeded,status.phase!=Failed')}"
    )
    end = time.monotonic() + PATIENCE_SECONDS
    why = ""
    while time.monotonic() < end:
        try:
            status, body = await transport.read(path)
            if status == 200:
                found = json.loads(body)["items"]
                if not found:
                    return True
                why = f"{found[0]['metadata']['name']} is there"
            else:
                why = f"status {status}"
        except UnreachableError as error:
            why = str(error)
        await asyncio.sleep(PAUSE_SECONDS)
    log.warning(
        "Waited in vain for the operator's end: %s; if it runs, end it and clean up again", why
    )
    return False
