"""Lead a port of this machine into a network namespace: `door.py PID PORT`.

Listens on 127.0.0.1:PORT outside and connects to 127.0.0.1:PORT inside. So a cluster whose network
has no link to anything is used like any other one: by kubectl, helm, a browser, from any terminal.
"""

import asyncio
import contextlib
import ctypes
import os
import socket
import sys


async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until nothing does."""
    with contextlib.suppress(OSError):
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    writer.close()


async def serve(listener: socket.socket, port: int) -> None:
    """Connect each caller with the port inside."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(carry(reader, inner_writer), carry(inner_reader, writer))

    await (await asyncio.start_server(connect, sock=listener)).serve_forever()


def main() -> None:
    """Listen outside, then go in: a socket stays in the namespace where it was made."""
    pid, port = int(sys.argv[1]), int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", port))
    libc = ctypes.CDLL(None, use_errno=True)
    with open(f"/proc/{pid}/ns/net") as namespace:
        if libc.setns(namespace.fileno(), 0):
            sys.exit(f"setns: {os.strerror(ctypes.get_errno())}")
    asyncio.run(serve(listener, port))


main()
