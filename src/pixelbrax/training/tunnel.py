"""A connection to JAX's coordinator that stays open when the coordinator is gone."""

import asyncio
import contextlib
import socket
import threading

_CHUNK = 2**16


class Tunnel:
    """A port of this machine that leads to JAX's coordinator in process 0.

    JAX aborts a process, with a stack of C++ frames, within milliseconds of losing its coordinator. Behind a tunnel it
    does not see the loss: its connection is silent, and `Link` has time to report what happened.
    """

    def __init__(self, host: str, port: int):
        """Listens at a free port until the process ends."""
        self._host, self._port = host, port
        self._carried: list[object] = []  # Python closes what it collects
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=lambda: asyncio.run(self._serve()), name="pixelbrax tunnel", daemon=True).start()

    async def _serve(self) -> None:
        async with await asyncio.start_server(self._carry, sock=self._server) as server:
            await server.serve_forever()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there, back = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.close()  # not there yet: JAX tries again
            return
        pumps = [asyncio.create_task(pump) for pump in (_pump(reader, back), _pump(there, writer))]
        self._carried += [reader, writer, there, back, *pumps]


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copies bytes one way; the end of one side does not end the other."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
