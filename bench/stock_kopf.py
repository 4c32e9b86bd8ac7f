"""kopf as it comes, with two handlers that do nothing: `python -m bench.stock_kopf URL PODS NODES`.

Prints a line once every pod and node has been handled. What the operator's own way to the API
server is compared with.
"""

import asyncio
import sys

import kopf


def main(server: str, pods: int, nodes: int) -> None:
    """Runs until it is ended."""
    registry = kopf.OperatorRegistry()
    seen: set[str] = set()

    @kopf.on.login(registry=registry)
    async def login(**_):
        return kopf.ConnectionInfo(server=server, token="none")

    async def handle(uid, **_):
        seen.add(uid)
        if len(seen) == pods + nodes:
            print("Everything has been handled", flush=True)

    kopf.on.event("", "v1", "pods", registry=registry)(handle)
    kopf.on.event("", "v1", "nodes", registry=registry)(handle)
    settings = kopf.OperatorSettings()
    settings.posting.enabled = False
    settings.scanning.disabled = True
    asyncio.run(
        kopf.operator(registry=registry, settings=settings, clusterwide=True, standalone=True)
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
